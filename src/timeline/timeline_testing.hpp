// Random timelines that satisfy every invariant, for property tests.
//
//   RC_ASSERT(first_fault(*any_timeline()) == "");
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <string>

#include "timeline/timeline.hpp"

namespace nereus::timeline::testing {

// `unit` scales all times: 1 makes slices shorter than a nanosecond, 1000 whole nanoseconds.
inline Timeline make_timeline(std::int64_t unit) {
  Timeline t;
  const int processes = *rc::gen::inRange(1, 4);
  t.num_ranks = *rc::gen::inRange(0, 9);
  for (int p = 0; p < processes; ++p)
    for (int s = 0; s < kNumStreams; ++s)
      if (s == 0 || *rc::gen::arbitrary<bool>())
        t.lanes.push_back({p, "rank " + std::to_string(p),
                           std::string(to_string(static_cast<Stream>(s))), static_cast<Stream>(s)});
  std::vector<std::int64_t> free(t.lanes.size(), 0);
  const int slices = *rc::gen::inRange(0, 60);
  for (int i = 0; i < slices; ++i) {
    const int lane = *rc::gen::inRange(0, static_cast<int>(t.lanes.size()));
    std::int64_t& at = free[lane];
    const std::int64_t start = at + unit * *rc::gen::inRange(0, 3);
    at = start + unit * *rc::gen::inRange(0, 5000);
    t.slices.push_back({lane, start, at,
                        static_cast<SliceKind>(*rc::gen::inRange(0, kNumSliceKinds)),
                        *rc::gen::inRange(-1, 8), *rc::gen::inRange(-1, 40)});
  }
  const int flows = slices > 0 ? *rc::gen::inRange(0, 12) : 0;
  for (int i = 0; i < flows; ++i) {
    const auto pick = [&] { return t.slices[*rc::gen::inRange<std::size_t>(0, t.slices.size())]; };
    Slice a = pick();
    Slice b = pick();
    std::int64_t from = *rc::gen::element(a.start, a.end, (a.start + a.end) / 2);
    std::int64_t to = *rc::gen::element(b.start, b.end);
    if (to < from) {
      std::swap(a, b);
      std::swap(from, to);
    }
    t.flows.push_back(
        {a.lane, from, b.lane, to, 100 + i, *rc::gen::arbitrary<bool>() ? "send" : "\"\n"});
  }
  for (int p = 0; p < processes; ++p) {
    if (*rc::gen::arbitrary<bool>()) continue;
    Counter counter{p, "memory", "bytes", {}};
    std::int64_t at = 0;
    for (int i = *rc::gen::inRange(0, 10); i > 0; --i) {
      at += unit * *rc::gen::inRange(0, 3000);
      counter.samples.push_back({at, *rc::gen::inRange(-5, 1000) * 1.5});
    }
    t.counters.push_back(counter);
  }
  if (*rc::gen::arbitrary<bool>()) {
    const std::int64_t end = t.end();
    t.marks = {step_mark(0, 0, end / 2), step_mark(1, end / 2, end)};
  }
  return t;
}

}  // namespace nereus::timeline::testing
