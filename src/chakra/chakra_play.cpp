#include "chakra/chakra_play.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "base/error.hpp"
#include "simulate/list_schedule.hpp"
#include "simulate/network/collective_run.hpp"

namespace nereus::chakra {

namespace {

using simulate::Algorithm;
using simulate::Dimension;
using simulate::DimensionKind;
using simulate::Network;
using simulate::Picoseconds;

constexpr Picoseconds kMicrosecond = 1'000'000;

simulate::Collective collective_of(CommType type) {
  switch (type) {
    case CommType::kAllReduce:
      return simulate::Collective::kAllReduce;
    case CommType::kAllGather:
      return simulate::Collective::kAllGather;
    case CommType::kAllToAll:
      return simulate::Collective::kAllToAll;
    case CommType::kReduceScatter:
      return simulate::Collective::kReduceScatter;
  }
  return simulate::Collective::kAllReduce;
}

// Times of collectives and messages, with a cache.
class Wires {
 public:
  Wires(const ChakraStep& step, const Network& network) : step_(step), network_(network) {}

  Picoseconds collective(int rank, const GraphNode& node) {
    const auto key = std::make_tuple(step_.groups.id(node.group, rank), node.comm, node.bytes);
    const auto [at, fresh] = known_.try_emplace(key, 0);
    if (fresh) at->second = quickest(step_.groups.members(node.group, rank), node);
    return at->second;
  }

  Picoseconds message(int from, int to, std::int64_t bytes) const {
    const Network::Path path = network_.route(from, to);
    double slowest = std::numeric_limits<double>::infinity();
    for (const simulate::LinkUse& use : path.links)
      slowest = std::min(slowest, network_.capacity_of(use.link) / use.weight);
    const double seconds = static_cast<double>(bytes) / slowest;
    if (seconds > 1e5)
      throw_input_error("simulate.too-long",
                        fmt::format("a message of {} bytes takes {:.3g} s", bytes, seconds), {},
                        "faster links");
    return path.latency + simulate::picoseconds(seconds);
  }

  std::int64_t events() const { return events_; }
  std::int64_t events_represented() const { return represented_; }

 private:
  // The group's own part of the network: ranks of a fast domain, and domains.
  std::vector<Dimension> dimensions_of(const std::vector<int>& members) const {
    const std::vector<Dimension>& all = network_.dimensions();
    std::vector<Dimension> out;
    for (std::size_t d = 0; d < all.size(); ++d) {
      std::vector<int> places;
      for (const int rank : members)
        places.push_back(network_.coordinate(rank, static_cast<int>(d)));
      std::sort(places.begin(), places.end());
      const auto size =
          static_cast<int>(std::unique(places.begin(), places.end()) - places.begin());
      if (size == 1) continue;
      Dimension own = all[d];
      own.size = size;
      if (own.leaf > 0 && size % own.leaf != 0) own.leaf = size;
      // A subset of a ring's ranks is not a ring; that of a dragonfly is spread over its groups;
      // and rails need an inner dimension.
      const bool partly = size < all[d].size;
      if ((partly && (own.kind == DimensionKind::kRing || own.kind == DimensionKind::kDragonfly)) ||
          (own.kind == DimensionKind::kRails && out.empty()))
        own = {DimensionKind::kSwitch, size, own.bandwidth, own.latency};
      out.push_back(own);
    }
    std::int64_t ranks = 1;
    for (const Dimension& d : out) ranks *= d.size;
    // Members that fill no box of the network: as if on one switch of its slowest links.
    if (ranks != static_cast<std::int64_t>(members.size()))
      out = {{DimensionKind::kSwitch, static_cast<int>(members.size()), all.back().bandwidth,
              all.back().latency}};
    return out;
  }

  Picoseconds quickest(const std::vector<int>& members, const GraphNode& node) {
    const auto size = static_cast<double>(members.size());
    simulate::CollectiveRequest request;
    request.collective = collective_of(node.comm);
    // ASTRA-sim counts what a rank brings to an all-gather, ours what there is in the end.
    request.bytes =
        static_cast<double>(node.bytes) * (node.comm == CommType::kAllGather ? size : 1);
    const Network network(dimensions_of(members));
    Picoseconds best = std::numeric_limits<Picoseconds>::max();
    simulate::SimulatedCollective taken;
    for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kDirect,
                                      Algorithm::kHalvingDoubling, Algorithm::kDoubleTree}) {
      if (!simulate::offers(algorithm, request.collective)) continue;
      request.algorithms.assign(network.dimensions().size(), algorithm);
      // Trees only support the last dimension.
      if (algorithm == Algorithm::kDoubleTree)
        std::fill(request.algorithms.begin(), request.algorithms.end() - 1, Algorithm::kRing);
      if (simulate::num_transfers(network, request) > kMostTransfers) continue;
      const simulate::SimulatedCollective tried = simulate::simulate(network, request);
      events_ += tried.events;
      if (tried.end >= best) continue;
      best = tried.end;
      taken = tried;
    }
    NEREUS_CHECK(best < std::numeric_limits<Picoseconds>::max(), "a ring is always offered");
    represented_ += taken.events_represented;
    return best;
  }

  static constexpr std::int64_t kMostTransfers = 100'000;

  const ChakraStep& step_;
  const Network& network_;
  std::map<std::tuple<int, CommType, std::int64_t>, Picoseconds> known_;
  std::int64_t events_ = 0;
  std::int64_t represented_ = 0;
};

enum Lane { kKernels, kTeam, kState, kMessages, kReceives, kNumLanes };

int lane_of(const GraphNode& node) {
  if (node.type == NodeType::kCompute) return kKernels;
  if (node.type == NodeType::kSend) return kMessages;
  if (node.type == NodeType::kReceive) return kReceives;
  switch (node.group) {
    case GroupKind::kTensor:
    case GroupKind::kContext:
    case GroupKind::kExperts:
    case GroupKind::kExpertParts:
      return kTeam;
    default:
      return kState;
  }
}

// The graphs of all pipeline ranks combined, with each node after everything it waits for.
class Joined {
 public:
  Joined(const ChakraStep& step, Wires& wires)
      : step_(step), wires_(wires), next_(step.graphs.size()), numbers_(step.graphs.size()) {
    stage_ranks_ = step.num_ranks() / static_cast<int>(step.graphs.size());
  }

  simulate::Graph join() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t p = 0; p < step_.graphs.size(); ++p)
        while (next_[p] < step_.graphs[p].nodes.size() && add(p)) moved = true;
    }
    for (std::size_t p = 0; p < step_.graphs.size(); ++p)
      NEREUS_CHECK(next_[p] == step_.graphs[p].nodes.size(), "every receive has its send");
    return std::move(graph_);
  }

 private:
  bool add(std::size_t p) {
    const GraphNode& node = step_.graphs[p].nodes[next_[p]];
    const int rank = static_cast<int>(p) * stage_ranks_;
    const int lane = static_cast<int>(p) * kNumLanes + lane_of(node);
    simulate::GraphNode own{lane, 0, {}};
    for (const std::uint64_t before : node.after) own.after.push_back(numbers_[p][before - 1]);
    switch (node.type) {
      case NodeType::kCompute:
        own.duration = static_cast<Picoseconds>(node.microseconds) * kMicrosecond;
        break;
      case NodeType::kCollective:
        own.duration = wires_.collective(rank, node);
        break;
      case NodeType::kSend:
        own.duration = wires_.message(rank, node.peer * stage_ranks_, node.bytes);
        break;
      case NodeType::kReceive: {
        const auto sent = sends_.find({node.peer, static_cast<int>(p), node.tag});
        if (sent == sends_.end()) return false;
        own.after.push_back(sent->second);  // no time: the sender's wire is the one that is busy
        break;
      }
    }
    const int number = graph_.add(std::move(own));
    numbers_[p].push_back(number);
    if (node.type == NodeType::kSend) sends_[{static_cast<int>(p), node.peer, node.tag}] = number;
    ++next_[p];
    return true;
  }

  const ChakraStep& step_;
  Wires& wires_;
  simulate::Graph graph_;
  std::vector<std::size_t> next_;
  std::vector<std::vector<int>> numbers_;  // in the joined graph
  std::map<std::tuple<int, int, int>, int> sends_;
  int stage_ranks_ = 1;
};

}  // namespace

LayerPlay play_layers(const ChakraStep& step, const Network& network) {
  NEREUS_CHECK(network.num_ranks() == step.num_ranks(), "the plan uses the whole network");
  Wires wires(step, network);
  const simulate::Graph graph = Joined(step, wires).join();
  const simulate::ListSchedule played = simulate::run(graph);
  LayerPlay out;
  out.seconds = static_cast<double>(played.end) * 1e-12;
  for (std::size_t p = 0; p < step.graphs.size(); ++p) {
    out.compute =
        std::max(out.compute, static_cast<double>(played.busy[p * kNumLanes + kKernels]) * 1e-12);
    for (const GraphNode& node : step.graphs[p].nodes)
      out.collectives += node.type == NodeType::kCollective ? 1 : 0;
  }
  out.exposed = out.seconds - out.compute;
  out.nodes = static_cast<std::int64_t>(graph.nodes().size());
  out.events = 2 * out.nodes + wires.events();
  const std::int64_t ranks = step.num_ranks() / static_cast<std::int64_t>(step.graphs.size());
  out.events_represented = 2 * out.nodes * ranks + wires.events_represented();
  return out;
}

}  // namespace nereus::chakra
