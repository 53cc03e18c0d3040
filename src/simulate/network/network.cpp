#include "simulate/network/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace nereus::simulate {

namespace {

constexpr int kMostRanks = 1 << 20;
constexpr std::int64_t kMostLinks = std::numeric_limits<int>::max();

void add(Route& links, int link) {
  const auto same = std::find_if(links.begin(), links.end(),
                                 [&](const LinkUse& use) { return use.link == link; });
  if (same == links.end())
    links.push_back({link, 1});
  else
    same->weight += 1;
}

// A rank's links in one dimension, by index: up and down (or forwards and backwards), then those of
// the switch or group whose first rank it is. Unused indices cost nothing.
constexpr int kUp = 0, kDown = 1, kLeafUp = 2, kLeafDown = 3, kLocal = 2;

std::int64_t links_a_rank(const Dimension& d) {
  switch (d.kind) {
    case DimensionKind::kFullyConnected:
      return d.size;
    case DimensionKind::kFatTree:
    case DimensionKind::kRails:
      return 4;
    case DimensionKind::kDragonfly:
      return kLocal + std::int64_t{d.group} + d.num_groups();
    default:
      return 2;
  }
}

}  // namespace

Network::Network(std::vector<Dimension> dimensions) : dimensions_(std::move(dimensions)) {
  ErrorList errors;
  if (dimensions_.empty()) errors.add("network.impossible", "a network has a dimension");
  std::int64_t ranks = 1;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    check(dimensions_[i], i, errors);
    stride_.push_back(static_cast<int>(ranks));
    ranks = std::min<std::int64_t>(ranks * std::max(1, dimensions_[i].size), kMostRanks + 1);
  }
  if (ranks > kMostRanks)
    errors.add("network.too-large", fmt::format("more than {} ranks", kMostRanks));
  errors.throw_if_any();
  num_ranks_ = static_cast<int>(ranks);
  std::int64_t total = 0;
  for (const Dimension& d : dimensions_) {
    first_link_.push_back(static_cast<int>(std::min(total, kMostLinks)));
    total += ranks * links_a_rank(d);
  }
  if (total > kMostLinks)
    throw_input_error("network.too-large",
                      fmt::format("{} links, more than {}", total, kMostLinks));
}

int Network::coordinate(int rank, int dimension) const {
  const auto d = static_cast<std::size_t>(dimension);
  return rank / stride_[d] % dimensions_[d].size;
}

int Network::moved(int rank, int dimension, int coordinate_there) const {
  return rank + (coordinate_there - coordinate(rank, dimension)) * stride_[dimension];
}

Network::LinkPlace Network::place_of(int link) const {
  std::size_t d = dimensions_.size() - 1;
  while (first_link_[d] > link) --d;
  const int width = static_cast<int>(links_a_rank(dimensions_[d]));
  const int inside = link - first_link_[d];
  return {static_cast<int>(d), inside / width, inside % width};
}

int Network::link_at(const LinkPlace& place) const {
  const auto d = static_cast<std::size_t>(place.dimension);
  return first_link_[d] + place.owner * static_cast<int>(links_a_rank(dimensions_[d])) +
         place.index;
}

LinkClass Network::class_of(const LinkPlace& place) const {
  const Dimension& d = dimensions_[place.dimension];
  switch (d.kind) {
    case DimensionKind::kRing:
      return place.index == kUp ? LinkClass::kForward : LinkClass::kBackward;
    case DimensionKind::kFullyConnected:
      return LinkClass::kDirect;
    default:
      break;
  }
  if (place.index <= kDown) return place.index == kUp ? LinkClass::kUp : LinkClass::kDown;
  if (d.kind == DimensionKind::kDragonfly)
    return place.index < first_global(d) ? LinkClass::kLocal : LinkClass::kGlobal;
  return place.index == kLeafUp ? LinkClass::kLeafUp : LinkClass::kLeafDown;
}

int Network::first_global(const Dimension& dragonfly) { return kLocal + dragonfly.group; }

double Network::capacity_of(int link) const {
  const LinkPlace place = place_of(link);
  return capacity(dimensions_[place.dimension], class_of(place));
}

void Network::step_along(std::size_t d, int from, int to, Path& path) const {
  const Dimension& dimension = dimensions_[d];
  const int n = dimension.size, axis = static_cast<int>(d);
  const int a = coordinate(from, axis), b = coordinate(to, axis);
  int hops = 0;
  // A link of the rank that differs from `from` only in this coordinate.
  const auto cross = [&](int owner_coordinate, int index) {
    add(path.links, link_at({axis, moved(from, axis, owner_coordinate), index}));
    ++hops;
  };
  switch (dimension.kind) {
    case DimensionKind::kRing: {
      const int forwards = (b - a + n) % n;
      const bool ahead = forwards <= n - forwards;
      for (int at = a; at != b; at = (at + (ahead ? 1 : n - 1)) % n) cross(at, ahead ? kUp : kDown);
      break;
    }
    case DimensionKind::kFullyConnected:
      cross(a, b);
      break;
    case DimensionKind::kSwitch:
    case DimensionKind::kFatTree:
    case DimensionKind::kRails: {
      const int leaf = dimension.below_switch();
      cross(a, kUp);
      if (a / leaf != b / leaf) {
        cross(a / leaf * leaf, kLeafUp);
        cross(b / leaf * leaf, kLeafDown);
      }
      cross(b, kDown);
      break;
    }
    case DimensionKind::kDragonfly: {
      const int leaf = dimension.leaf, group = dimension.group;
      const auto local = [&](int first_router, int router_a, int router_b) {
        if (router_a != router_b) cross((first_router + router_a) * leaf, kLocal + router_b);
      };
      const int router_a = a / leaf, router_b = b / leaf;
      const int group_a = router_a / group, group_b = router_b / group;
      const int first_a = group_a * group, first_b = group_b * group;
      cross(a, kUp);
      if (group_a == group_b) {
        local(first_a, router_a - first_a, router_b - first_a);
      } else {
        const int out = gateway(dimension, group_a, group_b);
        const int in = gateway(dimension, group_b, group_a);
        local(first_a, router_a - first_a, out);
        cross(first_a * leaf, first_global(dimension) + group_b);
        local(first_b, in, router_b - first_b);
      }
      cross(b, kDown);
      break;
    }
  }
  path.latency += hops * picoseconds(dimension.latency);
}

Network::Path Network::route(int from, int to) const {
  NEREUS_CHECK(from != to && from >= 0 && to >= 0 && from < num_ranks_ && to < num_ranks_,
               "a route joins two ranks");
  Path path;
  int at = from;
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    const int next = moved(at, static_cast<int>(d), coordinate(to, static_cast<int>(d)));
    if (next == at) continue;
    step_along(d, at, next, path);
    at = next;
  }
  return path;
}

}  // namespace nereus::simulate
