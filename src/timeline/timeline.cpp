#include "timeline/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

namespace nereus::timeline {

namespace {

std::string lanes_fault(const Timeline& timeline) {
  for (std::size_t i = 1; i < timeline.lanes.size(); ++i) {
    const Lane& before = timeline.lanes[i - 1];
    const Lane& lane = timeline.lanes[i];
    if (std::pair(before.process, before.stream) > std::pair(lane.process, lane.stream))
      return fmt::format("lane {} ({} of process {}) belongs before lane {} ({} of process {})", i,
                         to_string(lane.stream), lane.process, i - 1, to_string(before.stream),
                         before.process);
    if (before.process == lane.process && before.process_name != lane.process_name)
      return fmt::format("process {} is called {} in lane {} and {} in lane {}", lane.process,
                         before.process_name, i - 1, lane.process_name, i);
  }
  return {};
}

std::string slices_fault(const Timeline& timeline) {
  std::vector<std::int64_t> free(timeline.lanes.size(), 0);
  for (std::size_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    if (slice.lane < 0 || slice.lane >= static_cast<int>(timeline.lanes.size()))
      return fmt::format("slice {} is in lane {}, of {}", i, slice.lane, timeline.lanes.size());
    if (slice.start < 0) return fmt::format("slice {} starts at {} ps", i, slice.start);
    std::int64_t& at = free[slice.lane];
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

// Whether some slice of the lane has the time in it or at an edge.
bool touches(const Timeline& timeline, const std::vector<std::size_t>& lane, std::int64_t time) {
  const auto later = std::partition_point(
      lane.begin(), lane.end(), [&](std::size_t i) { return timeline.slices[i].end < time; });
  return later != lane.end() && timeline.slices[*later].start <= time;
}

std::string flows_fault(const Timeline& timeline) {
  if (timeline.flows.empty()) return {};
  const auto lanes = slices_by_lane(timeline);
  std::unordered_set<std::int64_t> ids;
  for (std::size_t i = 0; i < timeline.flows.size(); ++i) {
    const Flow& flow = timeline.flows[i];
    if (!ids.insert(flow.id).second)
      return fmt::format("flow {} has the id {} of another", i, flow.id);
    if (flow.to_time < flow.from_time)
      return fmt::format("flow {} ends at {} ps, before it starts at {} ps", i, flow.to_time,
                         flow.from_time);
    for (const auto& [lane, time] :
         {std::pair(flow.from_lane, flow.from_time), std::pair(flow.to_lane, flow.to_time)}) {
      if (lane < 0 || lane >= static_cast<int>(lanes.size()))
        return fmt::format("flow {} touches lane {}, of {}", i, lane, lanes.size());
      if (!touches(timeline, lanes[lane], time))
        return fmt::format("flow {} touches lane {} at {} ps, where it has no slice", i, lane,
                           time);
    }
  }
  return {};
}

std::string counters_fault(const Timeline& timeline) {
  std::set<std::pair<int, std::string>> names;
  for (std::size_t i = 0; i < timeline.counters.size(); ++i) {
    const Counter& counter = timeline.counters[i];
    if (!names.emplace(counter.process, counter.name).second)
      return fmt::format("process {} has two counters {}", counter.process, counter.name);
    std::int64_t last = 0;
    for (const Sample& sample : counter.samples) {
      if (sample.time < last)
        return fmt::format("counter {} has a sample at {} ps after one at {} ps", i, sample.time,
                           last);
      if (!std::isfinite(sample.value))
        return fmt::format("counter {} is not a number at {} ps", i, sample.time);
      last = sample.time;
    }
  }
  return {};
}

std::string marks_fault(const Timeline& timeline) {
  std::map<int, std::int64_t> free;
  for (std::size_t i = 0; i < timeline.marks.size(); ++i) {
    const Mark& mark = timeline.marks[i];
    std::int64_t& at = free[mark.process];  // 0 at first
    if (mark.start < at || mark.end < mark.start)
      return fmt::format("mark {} from {} ps to {} ps does not follow {} ps", i, mark.start,
                         mark.end, at);
    at = mark.end;
  }
  return {};
}

}  // namespace

std::string_view to_string(SliceKind kind) {
  constexpr std::array<std::string_view, kNumSliceKinds> kNames = {
      "forward", "backward",  "input gradient", "weight gradient", "send",
      "reduce",  "optimizer", "other",          "recompute",       "receive",
      "tensor",  "context",   "expert",         "gather",          "copy",
      "host",    "wait"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view to_string(Stream stream) {
  constexpr std::array<std::string_view, kNumStreams> kNames = {"compute", "tensor", "send",
                                                                "receive", "reduce", "copy"};
  return kNames[static_cast<std::size_t>(stream)];
}

Mark step_mark(int step, std::int64_t start, std::int64_t end) {
  return {-1, start, end, fmt::format("ProfilerStep#{}", step)};
}

std::int64_t Timeline::end() const {
  std::int64_t last = 0;
  for (const Slice& slice : slices) last = std::max(last, slice.end);
  for (const Mark& mark : marks) last = std::max(last, mark.end);
  for (const Counter& counter : counters)
    for (const Sample& sample : counter.samples) last = std::max(last, sample.time);
  return last;
}

std::string first_fault(const Timeline& timeline) {
  for (const auto check : {lanes_fault, slices_fault, flows_fault, counters_fault, marks_fault})
    if (std::string fault = check(timeline); !fault.empty()) return fault;
  return {};
}

Timeline of_process(const Timeline& timeline, int process) {
  Timeline out;
  out.num_ranks = timeline.num_ranks;
  std::vector<int> lane_of(timeline.lanes.size(), -1);
  for (std::size_t i = 0; i < timeline.lanes.size(); ++i) {
    if (timeline.lanes[i].process != process) continue;
    lane_of[i] = static_cast<int>(out.lanes.size());
    out.lanes.push_back(timeline.lanes[i]);
  }
  for (Slice slice : timeline.slices) {
    slice.lane = lane_of[slice.lane];
    if (slice.lane >= 0) out.slices.push_back(slice);
  }
  for (Flow flow : timeline.flows) {
    flow.from_lane = lane_of[flow.from_lane];
    flow.to_lane = lane_of[flow.to_lane];
    if (flow.from_lane >= 0 && flow.to_lane >= 0) out.flows.push_back(std::move(flow));
  }
  for (const Counter& counter : timeline.counters)
    if (counter.process == process) out.counters.push_back(counter);
  for (const Mark& mark : timeline.marks)
    if (mark.process == process || mark.process == -1) out.marks.push_back(mark);
  return out;
}

std::vector<std::vector<std::size_t>> slices_by_lane(const Timeline& timeline) {
  std::vector<std::vector<std::size_t>> lanes(timeline.lanes.size());
  for (std::size_t i = 0; i < timeline.slices.size(); ++i)
    lanes[timeline.slices[i].lane].push_back(i);
  return lanes;
}

}  // namespace nereus::timeline
