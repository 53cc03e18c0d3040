#include "timeline/rank_timeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/base_testing.hpp"
#include "timeline/check_trace.hpp"
#include "timeline/chrome_trace.hpp"
#include "timeline/timeline_testing.hpp"

namespace nereus::timeline::rank_timeline_test {
namespace {

using ::nereus::testing::codes_of;
using ::testing::ElementsAre;

RankTimeline any_rank(int rank) {
  RankTimeline out;
  out.origin_ns = *rc::gen::inRange<std::int64_t>(0, 1000000);
  out.timeline = of_process(testing::make_timeline(1000), 0);
  for (Lane& lane : out.timeline.lanes) {
    lane.process = rank;
    lane.process_name = "rank " + std::to_string(rank);
  }
  for (Counter& counter : out.timeline.counters) counter.process = rank;
  for (Mark& mark : out.timeline.marks) mark.process = -1;
  for (const Slice& slice : out.timeline.slices)
    if (*rc::gen::inRange(0, 4) == 0)
      out.ends.push_back({*rc::gen::arbitrary<bool>(), slice.lane, slice.end,
                          static_cast<std::int64_t>(out.ends.size()), "message"});
  return out;
}

RC_GTEST_PROP(RankTimeline, ReadsBackEqual, ()) {
  const RankTimeline rank = any_rank(*rc::gen::inRange(0, 9));
  RC_ASSERT(parse_rank_timeline(rank_timeline_to_json(rank), "rank") == rank);
}

RC_GTEST_PROP(RankTimeline, JoinedTimelinesKeepEveryInvariantAndEverySlice, ()) {
  // In any order; lanes come sorted.
  std::vector<RankTimeline> ranks{any_rank(2), any_rank(0), any_rank(1)};
  const Timeline all = join(ranks);
  RC_ASSERT(first_fault(all) == "");
  std::size_t slices = 0;
  std::int64_t busy = 0, joined_busy = 0;
  for (const RankTimeline& rank : ranks) {
    slices += rank.timeline.slices.size();
    for (const Slice& slice : rank.timeline.slices) busy += slice.end - slice.start;
  }
  for (const Slice& slice : all.slices) joined_busy += slice.end - slice.start;
  RC_ASSERT(all.slices.size() == slices);
  RC_ASSERT(joined_busy == busy);
  RC_ASSERT(check_trace(chrome_trace(all)).faults.empty());
}

TEST(RankTimeline, MessagesMeetAndTimesAreShifted) {
  RankTimeline a{1000, {}, {}}, b{1500, {}, {}};
  a.timeline.lanes = {{0, "rank 0", "send", Stream::kSend}};
  a.timeline.slices = {{0, 100'000, 200'000, SliceKind::kSend, 0, 3}};
  b.timeline.lanes = {{1, "rank 1", "receive", Stream::kReceive}};
  b.timeline.slices = {{0, 0, 50'000, SliceKind::kReceive, 1, 3}};
  a.ends = {{true, 0, 150'000, 77, "activations"}, {true, 0, 150'000, 78, "nobody takes it"}};
  b.ends = {{false, 0, 40'000, 77, "activations"}};
  const Timeline all = join({a, b});
  ASSERT_EQ(all.flows.size(), 1u);
  EXPECT_EQ(all.flows[0], (Flow{0, 150'000, 1, 540'000, 0, "activations"}));
  EXPECT_EQ(all.slices[1].start, 500'000);
  // Seen from a clock that is behind, the message would arrive before it left.
  b.origin_ns = 1000;
  EXPECT_TRUE(join({a, b}).flows.empty());
}

TEST(RankTimeline, WhatIsNoTimelineIsAnError) {
  RankTimeline rank;
  rank.timeline.lanes = {{0, "rank 0", "compute", Stream::kCompute}};
  rank.timeline.slices = {{0, 0, 5, SliceKind::kForward, 0, 0}};
  const std::string good = rank_timeline_to_json(rank);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    NEREUS_CHECK(at != std::string::npos, from);
    return codes_of([&] { parse_rank_timeline(text.replace(at, from.size(), to), "rank"); });
  };
  EXPECT_THAT(with("[0,0,5,", "[0,0,"), ElementsAre("timeline.syntax"));
  EXPECT_THAT(with("\"forward\"", "\"sideways\""), ElementsAre("timeline.syntax"));
  EXPECT_THAT(with("\"schema_version\":1", "\"schema_version\":2"),
              ElementsAre("timeline.schema-version"));
  EXPECT_THAT(with("[0,0,5,", "[3,0,5,"), ElementsAre("timeline.fault"));
  EXPECT_THAT(with("\"ends\":[]", "\"ends\":[[true,0,9,1,\"m\"]]"), ElementsAre("timeline.fault"));
  EXPECT_THAT(codes_of([] { parse_rank_timeline("[", "rank"); }), ElementsAre("timeline.syntax"));
}

}  // namespace
}  // namespace nereus::timeline::rank_timeline_test
