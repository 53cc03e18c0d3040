#include "worker/comm/lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace nereus::worker {

namespace {

auto key_of(const Lane& lane) {
  const int low = std::min(lane.from, lane.to), distance = std::max(lane.from, lane.to) - low;
  const int round = distance > 0 ? low / distance % 2 : 0;
  return std::tuple(distance, round, low, lane.from, lane.first_tag, lane.end_tag);
}

}  // namespace

std::vector<Lane> in_build_order(std::vector<Lane> lanes) {
  std::sort(lanes.begin(), lanes.end(),
            [](const Lane& a, const Lane& b) { return key_of(a) < key_of(b); });
  lanes.erase(std::unique(lanes.begin(), lanes.end()), lanes.end());
  return lanes;
}

std::optional<std::size_t> lane_of(const std::vector<Lane>& lanes, int from, int to,
                                   std::int64_t tag) {
  for (std::size_t i = 0; i < lanes.size(); ++i)
    if (lanes[i].from == from && lanes[i].to == to && lanes[i].first_tag <= tag &&
        tag < lanes[i].end_tag)
      return i;
  return std::nullopt;
}

std::string to_string(const Lane& lane) {
  return fmt::format("{}>{}/{}", lane.from, lane.to, lane.first_tag);
}

}  // namespace nereus::worker
