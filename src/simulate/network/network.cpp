#include "simulate/network/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nereus::simulate {

namespace {

constexpr int kMostRanks = 1 << 20;
constexpr std::int64_t kMostLinks = std::int64_t{1} << 26;

void add(Route& links, int link) {
  const auto same = std::find_if(links.begin(), links.end(),
                                 [&](const LinkUse& use) { return use.link == link; });
  if (same == links.end())
    links.push_back({link, 1});
  else
    same->weight += 1;
}

int num_leaves(const Dimension& d) { return d.size / d.leaf; }

// Links of one dimension in the whole network of `ranks`.
std::int64_t num_links(const Dimension& d, std::int64_t ranks) {
  switch (d.kind) {
    case DimensionKind::kFullyConnected:
      return ranks * d.size;  // to itself too, unused: keeps the numbering simple
    case DimensionKind::kFatTree:
      return 2 * ranks + 2 * (ranks / d.size) * num_leaves(d);
    default:
      return 2 * ranks;
  }
}

void check(const Dimension& d, std::size_t index, ErrorList& errors) {
  const auto wrong = [&](std::string message, std::string hint = {}) {
    errors.add("network.impossible", fmt::format("dimension {}: {}", index + 1, message), {},
               std::move(hint));
  };
  if (d.size < 1) wrong(fmt::format("{} ranks", d.size), "at least 1");
  if (!(d.bandwidth > 0) || !std::isfinite(d.bandwidth))
    wrong(fmt::format("a bandwidth of {:g} bytes per second carries nothing", d.bandwidth),
          "more than 0");
  if (!(d.latency >= 0) || !(d.latency < 1e3))
    wrong(fmt::format("a latency of {:g} s", d.latency), "0 or more");
  if (d.kind == DimensionKind::kFatTree) {
    if (d.leaf < 1 || d.size % d.leaf != 0)
      wrong(fmt::format("leaves of {} do not divide {} ranks", d.leaf, d.size));
    if (!(d.oversubscription >= 1) || !std::isfinite(d.oversubscription))
      wrong(fmt::format("oversubscription {:g}", d.oversubscription), "1 or more");
  }
}

}  // namespace

std::string_view to_string(DimensionKind kind) {
  constexpr std::string_view kNames[] = {"ring", "fully connected", "switch", "fat tree"};
  return kNames[static_cast<int>(kind)];
}

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
  for (const Dimension& d : dimensions_) total += num_links(d, ranks);
  if (total > kMostLinks)
    throw_input_error("network.too-large",
                      fmt::format("{} links, more than {}", total, kMostLinks));
  int first = 0;
  for (const Dimension& d : dimensions_) {
    first_link_.push_back(first);
    first += static_cast<int>(num_links(d, ranks));
  }
}

std::vector<double> Network::capacities() const {
  std::vector<double> all;
  for (const Dimension& d : dimensions_) {
    const auto first = static_cast<std::ptrdiff_t>(all.size());
    all.resize(all.size() + static_cast<std::size_t>(num_links(d, num_ranks_)), d.bandwidth);
    if (d.kind == DimensionKind::kFatTree)
      std::fill(all.begin() + first + 2 * num_ranks_, all.end(),
                d.bandwidth * d.leaf / d.oversubscription);
  }
  return all;
}

int Network::coordinate(int rank, int dimension) const {
  const auto d = static_cast<std::size_t>(dimension);
  return rank / stride_[d] % dimensions_[d].size;
}

int Network::moved(int rank, int dimension, int coordinate_there) const {
  return rank + (coordinate_there - coordinate(rank, dimension)) *
                    stride_[static_cast<std::size_t>(dimension)];
}

void Network::step_along(std::size_t d, int from, int to, Path& path) const {
  const Dimension& dimension = dimensions_[d];
  const int n = dimension.size, axis = static_cast<int>(d);
  const int a = coordinate(from, axis), b = coordinate(to, axis);
  int hops = 0;
  const auto cross = [&](int index) {
    add(path.links, link(d, index));
    ++hops;
  };
  switch (dimension.kind) {
    case DimensionKind::kRing: {
      const int forwards = (b - a + n) % n;
      const bool ahead = forwards <= n - forwards;
      for (int at = a; at != b; at = (at + (ahead ? 1 : n - 1)) % n)
        cross(2 * moved(from, axis, at) + (ahead ? 0 : 1));
      break;
    }
    case DimensionKind::kFullyConnected:
      cross(from * n + b);
      break;
    case DimensionKind::kSwitch:
      cross(2 * from);
      cross(2 * to + 1);
      break;
    case DimensionKind::kFatTree: {
      cross(2 * from);
      const int leaf_a = a / dimension.leaf, leaf_b = b / dimension.leaf;
      if (leaf_a != leaf_b) {
        // Which group of this dimension the ranks belong to: their number without its coordinate.
        const int stride = stride_[d];
        const int group = from % stride + from / (stride * n) * stride;
        const int base = 2 * num_ranks_ + 2 * group * num_leaves(dimension);
        cross(base + 2 * leaf_a);
        cross(base + 2 * leaf_b + 1);
      }
      cross(2 * to + 1);
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
