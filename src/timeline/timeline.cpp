#include "timeline/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace nereus::timeline {

std::string_view to_string(SliceKind kind) {
  constexpr std::array<std::string_view, kNumSliceKinds> kNames = {
      "forward", "backward", "input gradient", "weight gradient",
      "send",    "reduce",   "optimizer",      "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::int64_t Timeline::end() const {
  std::int64_t last = 0;
  for (const Slice& slice : slices) last = std::max(last, slice.end);
  return last;
}

std::string first_fault(const Timeline& timeline) {
  std::vector<std::int64_t> free(timeline.lanes.size(), 0);
  for (std::size_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    if (slice.lane < 0 || slice.lane >= static_cast<int>(timeline.lanes.size()))
      return fmt::format("slice {} is in lane {}, of {}", i, slice.lane, timeline.lanes.size());
    std::int64_t& at = free[static_cast<std::size_t>(slice.lane)];
    if (slice.end < slice.start) return fmt::format("slice {} ends before it starts", i);
    if (slice.start < at)
      return fmt::format(
          "slice {} of lane {} starts at {} ps, before {} ps where the one before it "
          "ends",
          i, slice.lane, slice.start, at);
    at = slice.end;
  }
  return {};
}

}  // namespace nereus::timeline
