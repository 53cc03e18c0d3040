#include "timeline/rank_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"

namespace nereus::timeline {

namespace {

using Json = nlohmann::json;

constexpr std::int64_t kPicoseconds = 1000;  // of a nanosecond

template <class Enum>
Enum named(const std::string& name, int count, const char* what) {
  for (int i = 0; i < count; ++i)
    if (to_string(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  throw std::runtime_error(fmt::format("\"{}\" is no {}", name, what));
}

// A row of exactly so many values.
const Json& row_of(const Json& row, std::size_t size) {
  if (!row.is_array() || row.size() != size)
    throw std::runtime_error(fmt::format("a row of {} values is expected: {}", size, row.dump()));
  return row;
}

Timeline read_timeline(const Json& json) {
  Timeline t;
  json.at("num_ranks").get_to(t.num_ranks);
  for (const Json& item : json.at("lanes")) {
    const Json& row = row_of(item, 4);
    t.lanes.push_back({row[0].get<int>(), row[1].get<std::string>(), row[2].get<std::string>(),
                       named<Stream>(row[3].get<std::string>(), kNumStreams, "stream")});
  }
  for (const Json& item : json.at("slices")) {
    const Json& row = row_of(item, 6);
    t.slices.push_back({row[0].get<int>(), row[1].get<std::int64_t>(), row[2].get<std::int64_t>(),
                        named<SliceKind>(row[3].get<std::string>(), kNumSliceKinds, "kind"),
                        row[4].get<int>(), row[5].get<int>()});
  }
  for (const Json& item : json.at("flows")) {
    const Json& row = row_of(item, 6);
    t.flows.push_back({row[0].get<int>(), row[1].get<std::int64_t>(), row[2].get<int>(),
                       row[3].get<std::int64_t>(), row[4].get<std::int64_t>(),
                       row[5].get<std::string>()});
  }
  for (const Json& item : json.at("counters")) {
    const Json& row = row_of(item, 4);
    Counter counter{row[0].get<int>(), row[1].get<std::string>(), row[2].get<std::string>(), {}};
    for (const Json& sample : row[3])
      counter.samples.push_back(
          {row_of(sample, 2)[0].get<std::int64_t>(), sample[1].get<double>()});
    t.counters.push_back(std::move(counter));
  }
  for (const Json& item : json.at("marks")) {
    const Json& row = row_of(item, 4);
    t.marks.push_back({row[0].get<int>(), row[1].get<std::int64_t>(), row[2].get<std::int64_t>(),
                       row[3].get<std::string>()});
  }
  return t;
}

std::vector<FlowEnd> read_ends(const Json& json) {
  std::vector<FlowEnd> ends;
  for (const Json& item : json.at("ends")) {
    const Json& row = row_of(item, 5);
    ends.push_back({row[0].get<bool>(), row[1].get<int>(), row[2].get<std::int64_t>(),
                    row[3].get<std::int64_t>(), row[4].get<std::string>()});
  }
  return ends;
}

// An end is valid if a flow with it would be: it is in a slice of its lane, or on an edge.
std::string ends_fault(const RankTimeline& rank) {
  const auto lanes = slices_by_lane(rank.timeline);
  for (const FlowEnd& end : rank.ends) {
    if (end.lane < 0 || end.lane >= static_cast<int>(lanes.size()))
      return fmt::format("a message's end is in lane {}, of {}", end.lane, lanes.size());
    const auto& slices = lanes[end.lane];
    const bool inside = std::any_of(slices.begin(), slices.end(), [&](std::size_t i) {
      const Slice& slice = rank.timeline.slices[i];
      return slice.start <= end.time && end.time <= slice.end;
    });
    if (!inside)
      return fmt::format("a message's end touches lane {} at {} ps, where it has no slice",
                         end.lane, end.time);
  }
  return {};
}

void write_flow(Json& rows, const Flow& flow) {
  rows.push_back({flow.from_lane, flow.from_time, flow.to_lane, flow.to_time, flow.id, flow.name});
}

// A lane of a rank, and its index among all lanes.
struct Place {
  std::size_t rank = 0;
  std::size_t lane = 0;
};

std::vector<Place> sorted_lanes(const std::vector<RankTimeline>& ranks) {
  std::vector<Place> places;
  for (std::size_t r = 0; r < ranks.size(); ++r)
    for (std::size_t i = 0; i < ranks[r].timeline.lanes.size(); ++i) places.push_back({r, i});
  const auto key = [&](const Place& place) {
    const Lane& lane = ranks[place.rank].timeline.lanes[place.lane];
    return std::pair(lane.process, lane.stream);
  };
  std::stable_sort(places.begin(), places.end(),
                   [&](const Place& a, const Place& b) { return key(a) < key(b); });
  return places;
}

}  // namespace

std::string rank_timeline_to_json(const RankTimeline& rank) {
  const Timeline& t = rank.timeline;
  Json json;
  json["schema_version"] = kTimelineSchemaVersion;
  json["origin_ns"] = rank.origin_ns;
  json["num_ranks"] = t.num_ranks;
  for (const char* key : {"lanes", "slices", "flows", "counters", "marks", "ends"})
    json[key] = Json::array();
  for (const Lane& lane : t.lanes)
    json["lanes"].push_back({lane.process, lane.process_name, lane.name, to_string(lane.stream)});
  for (const Slice& s : t.slices)
    json["slices"].push_back({s.lane, s.start, s.end, to_string(s.kind), s.stage, s.micro_batch});
  for (const Flow& flow : t.flows) write_flow(json["flows"], flow);
  for (const Counter& counter : t.counters) {
    Json samples = Json::array();
    for (const Sample& sample : counter.samples)
      samples.push_back(Json::array({sample.time, sample.value}));
    json["counters"].push_back({counter.process, counter.name, counter.unit, std::move(samples)});
  }
  for (const Mark& mark : t.marks)
    json["marks"].push_back({mark.process, mark.start, mark.end, mark.name});
  for (const FlowEnd& end : rank.ends)
    json["ends"].push_back({end.leaves, end.lane, end.time, end.id, end.name});
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

RankTimeline parse_rank_timeline(std::string_view text, const std::string& file) {
  RankTimeline rank;
  try {
    const Json json = Json::parse(text);
    const int version = json.at("schema_version").get<int>();
    if (version != kTimelineSchemaVersion)
      throw_input_error("timeline.schema-version",
                        fmt::format("this timeline has schema_version {}, and this program reads "
                                    "version {}",
                                    version, kTimelineSchemaVersion),
                        {file});
    json.at("origin_ns").get_to(rank.origin_ns);
    rank.timeline = read_timeline(json);
    rank.ends = read_ends(json);
  } catch (const Errors&) {
    throw;
  } catch (const std::exception& error) {
    throw_input_error("timeline.syntax", fmt::format("no timeline of a rank: {}", error.what()),
                      {file});
  }
  std::string fault = first_fault(rank.timeline);
  if (fault.empty()) fault = ends_fault(rank);
  if (!fault.empty()) throw_input_error("timeline.fault", fault, {file});
  return rank;
}

Timeline join(const std::vector<RankTimeline>& ranks) {
  Timeline all;
  std::int64_t origin = 0;
  for (const RankTimeline& rank : ranks)
    origin = &rank == ranks.data() ? rank.origin_ns : std::min(origin, rank.origin_ns);
  const auto shift = [&](const RankTimeline& rank) {
    return (rank.origin_ns - origin) * kPicoseconds;
  };

  std::vector<std::vector<int>> lane_of(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) lane_of[r].resize(ranks[r].timeline.lanes.size());
  for (const Place& place : sorted_lanes(ranks)) {
    lane_of[place.rank][place.lane] = static_cast<int>(all.lanes.size());
    all.lanes.push_back(ranks[place.rank].timeline.lanes[place.lane]);
  }

  std::map<std::int64_t, std::pair<std::optional<FlowEnd>, std::optional<FlowEnd>>> messages;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const RankTimeline& rank = ranks[r];
    const std::int64_t by = shift(rank);
    const auto lane = [&](int i) { return lane_of[r][i]; };
    const int process = rank.timeline.lanes.empty() ? 0 : rank.timeline.lanes.front().process;
    all.num_ranks = std::max(all.num_ranks, rank.timeline.num_ranks);
    for (Slice slice : rank.timeline.slices) {
      slice.lane = lane(slice.lane);
      slice.start += by;
      slice.end += by;
      all.slices.push_back(slice);
    }
    for (Flow flow : rank.timeline.flows) {
      flow.from_lane = lane(flow.from_lane);
      flow.to_lane = lane(flow.to_lane);
      flow.from_time += by;
      flow.to_time += by;
      flow.id = static_cast<std::int64_t>(all.flows.size());
      all.flows.push_back(std::move(flow));
    }
    for (Counter counter : rank.timeline.counters) {
      for (Sample& sample : counter.samples) sample.time += by;
      all.counters.push_back(std::move(counter));
    }
    for (Mark mark : rank.timeline.marks) {
      if (mark.process < 0) mark.process = process;
      mark.start += by;
      mark.end += by;
      all.marks.push_back(std::move(mark));
    }
    for (FlowEnd end : rank.ends) {
      end.lane = lane(end.lane);
      end.time += by;
      auto& message = messages[end.id];
      (end.leaves ? message.first : message.second) = std::move(end);
    }
  }
  for (const auto& [id, message] : messages) {
    const auto& [from, to] = message;
    if (!from || !to || to->time < from->time) continue;
    all.flows.push_back({from->lane, from->time, to->lane, to->time,
                         static_cast<std::int64_t>(all.flows.size()), from->name});
  }
  return all;
}

}  // namespace nereus::timeline
