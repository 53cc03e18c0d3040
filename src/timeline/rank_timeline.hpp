// The timeline of one rank as a file, and how the timelines of all ranks are joined.
//
//   {"schema_version": 1, "origin_ns": 1763219000000000000, "num_ranks": 4,
//    "lanes": [[process, "process name", "lane name", "stream"], ..],
//    "slices": [[lane, start, end, "kind", stage, micro_batch], ..],
//    "flows": [[from_lane, from_time, to_lane, to_time, id, "name"], ..],
//    "counters": [[process, "name", "unit", [[time, value], ..]], ..],
//    "marks": [[process, start, end, "name"], ..],
//    "ends": [[leaves, lane, time, id, "name"], ..]}
//
// Times are picoseconds from the rank's origin, which is a wall-clock time in nanoseconds; join
// converts them to times from the earliest origin. A rank sees only one end of a message; join
// makes a flow from two ends with the same id. It leaves out a flow that would go backward in time,
// because clocks of different hosts may disagree.
//
//   write_file(path, rank_timeline_to_json(mine));            // called by the worker, at its end
//   Timeline all = join({parse_rank_timeline(text, path), ..});
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/timeline.hpp"

namespace nereus::timeline {

inline constexpr int kTimelineSchemaVersion = 1;

struct FlowEnd {
  bool leaves = true;  // false: it arrives
  int lane = 0;
  std::int64_t time = 0;
  std::int64_t id = 0;  // equal on both ranks, unique per message
  std::string name;
  bool operator==(const FlowEnd&) const = default;
};

struct RankTimeline {
  std::int64_t origin_ns = 0;  // since 1970
  Timeline timeline;
  std::vector<FlowEnd> ends{};
  bool operator==(const RankTimeline&) const = default;
};

std::string rank_timeline_to_json(const RankTimeline& rank);
// Throws Errors if the file is not valid ("timeline.syntax", "timeline.schema-version"), or
// violates an invariant of timeline.hpp ("timeline.fault").
RankTimeline parse_rank_timeline(std::string_view text, const std::string& file);

// Ranks must have different processes. Marks of "all" become marks of their rank.
Timeline join(const std::vector<RankTimeline>& ranks);

}  // namespace nereus::timeline
