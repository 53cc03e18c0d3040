// What each lane (a stream of a rank) did when. Plain data: the simulator and later the worker
// write it, people look at it.
//
//   Timeline t;
//   t.lanes.push_back({.process = 0, .process_name = "rank 0", .name = "compute"});
//   t.slices.push_back({.lane = 0, .start = 0, .end = 1'000'000, .kind = SliceKind::kForward});
//   write_file("step.json", chrome_trace(t));          // timeline/chrome_trace.hpp
//
// Times are picoseconds. Slices of one lane do not overlap and are in order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nereus::timeline {

enum class SliceKind { kForward, kBackward, kInput, kWeight, kSend, kReduce, kOptimizer, kOther };
inline constexpr int kNumSliceKinds = 8;
std::string_view to_string(SliceKind kind);

struct Lane {
  int process = 0;  // a rank
  std::string process_name;
  std::string name;  // a stream of it
  bool operator==(const Lane&) const = default;
};

struct Slice {
  int lane = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
  SliceKind kind = SliceKind::kOther;
  int stage = -1;  // virtual; -1 where it belongs to none
  int micro_batch = -1;
  bool operator==(const Slice&) const = default;
};

struct Timeline {
  std::vector<Lane> lanes;
  std::vector<Slice> slices;
  std::int64_t end() const;
  bool operator==(const Timeline&) const = default;
};

// What is wrong with a timeline, in words; empty where its invariants hold.
std::string first_fault(const Timeline& timeline);

}  // namespace nereus::timeline
