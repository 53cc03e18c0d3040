#include "simulate/network/fold.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

namespace nereus::simulate {

namespace {

// The route of a join: it carries nothing and takes no time.
const Network::Path kNowhere{{{0, 1}}, 0};

// Sender and receiver of every message, in order of senders.
std::vector<std::pair<int, int>> messages_of(const Network& network, const Exchange& e) {
  const int n = network.dimensions()[static_cast<std::size_t>(e.dimension)].size;
  std::vector<std::vector<int>> to(static_cast<std::size_t>(n));
  for (int c = 0; c < n; ++c) {
    if (e.pattern == Exchange::Pattern::kShift)
      to[static_cast<std::size_t>(c)] = {(c + e.amount) % n};
    if (e.pattern == Exchange::Pattern::kJoin) to[static_cast<std::size_t>(c)] = {c};
    if (e.pattern == Exchange::Pattern::kXor) to[static_cast<std::size_t>(c)] = {c ^ e.amount};
  }
  for (const auto& [a, b] : e.pairs) to[static_cast<std::size_t>(a)].push_back(b);
  std::vector<std::pair<int, int>> messages;
  for (int rank = 0; rank < network.num_ranks(); ++rank)
    for (const int c : to[static_cast<std::size_t>(network.coordinate(rank, e.dimension))])
      messages.emplace_back(rank, network.moved(rank, e.dimension, c));
  return messages;
}

using ByRank = std::vector<std::pair<int, int>>;  // rank, transfer; sorted

std::span<const std::pair<int, int>> of_rank(const ByRank& all, int rank) {
  const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
  const auto [begin, end] = std::equal_range(all.begin(), all.end(), std::pair{rank, 0}, less);
  return {begin, end};
}

// One rank's route over link classes: as many crossings of a class as of links in it.
Network::Path class_route(const Dimension& d, int first, const Exchange& e) {
  const Picoseconds latency = picoseconds(d.latency);
  switch (d.kind) {
    case DimensionKind::kRing: {
      const bool ahead = e.amount <= d.size - e.amount;
      const int hops = ahead ? e.amount : d.size - e.amount;
      return {{{first + (ahead ? 0 : 1), static_cast<double>(hops)}}, hops * latency};
    }
    case DimensionKind::kFullyConnected:
      return {{{first + e.amount, 1}}, latency};
    default:
      return {{{first, 1}, {first + 1, 1}}, 2 * latency};
  }
}

}  // namespace

Playable unfolded(const Network& network, const Program& program) {
  Playable playable;
  playable.capacities = network.capacities();
  Transfers& transfers = playable.transfers;
  std::map<std::pair<int, int>, int> routes;
  // Of each exchange, the transfers that arrive at a rank and those that leave it.
  std::vector<ByRank> arriving(program.size()), leaving(program.size());
  for (std::size_t i = 0; i < program.size(); ++i) {
    const Exchange& e = program[i];
    for (const auto& [from, to] : messages_of(network, e)) {
      auto [route, fresh] = routes.try_emplace({from, to}, 0);
      if (fresh) {
        Network::Path path = from == to ? kNowhere : network.route(from, to);
        route->second = transfers.add_route(std::move(path.links), path.latency);
      }
      const int transfer = transfers.add(route->second, e.bytes);
      arriving[i].emplace_back(to, transfer);
      leaving[i].emplace_back(from, transfer);
      for (const int before : e.after) {
        const auto b = static_cast<std::size_t>(before);
        for (const int end : {from, to})
          for (const auto& [rank, other] : of_rank(arriving[b], end))
            transfers.after_arrival(transfer, other);
        for (const auto& [rank, other] : of_rank(leaving[b], from))
          transfers.after_sent(transfer, other);
      }
      if (e.follows >= 0)
        for (const auto& [rank, other] :
             of_rank(leaving[static_cast<std::size_t>(e.follows)], from))
          transfers.after_sent(transfer, other);
    }
    std::sort(arriving[i].begin(), arriving[i].end());
  }
  return playable;
}

Playable folded(const Network& network, const Program& program) {
  Playable playable;
  std::vector<int> first;
  for (const Dimension& d : network.dimensions()) {
    first.push_back(static_cast<int>(playable.capacities.size()));
    const int classes = d.kind == DimensionKind::kFullyConnected ? d.size : 2;
    playable.capacities.resize(playable.capacities.size() + static_cast<std::size_t>(classes),
                               d.bandwidth);
  }
  std::map<std::pair<int, int>, int> routes;  // dimension and amount
  for (std::size_t i = 0; i < program.size(); ++i) {
    const Exchange& e = program[i];
    const bool join = e.pattern == Exchange::Pattern::kJoin;
    auto [route, fresh] = routes.try_emplace({e.dimension, join ? 0 : e.amount}, 0);
    if (fresh) {
      const auto d = static_cast<std::size_t>(e.dimension);
      Network::Path path = join ? kNowhere : class_route(network.dimensions()[d], first[d], e);
      route->second = playable.transfers.add_route(std::move(path.links), path.latency);
    }
    const int transfer = playable.transfers.add(route->second, e.bytes);
    for (const int before : e.after) playable.transfers.after_arrival(transfer, before);
    if (e.follows >= 0) playable.transfers.after_sent(transfer, e.follows);
  }
  return playable;
}

}  // namespace nereus::simulate
