// Writes cases for tests/long/simgrid.sh: networks and transfers, with the times at which our
// simulator says that each transfer arrives.
//
//   simgrid_cases DIR            one file DIR/NAME.case each
//
// A case, one item a line, numbered from 0 in the order of the file:
//   latency after|native         whether SimGrid's own links have the latency (see play_case.cpp)
//   link BYTES_PER_S LATENCY_PS
//   route LATENCY_PS LINK...
//   flow ROUTE BYTES ARRIVAL_PS
//   wait FLOW BEFORE sent|arrived
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "simulate/network/collective_run.hpp"

namespace nereus::simulate {
namespace {

struct Links {
  std::vector<double> capacities;
  std::vector<Picoseconds> latencies;
};

class Cases {
 public:
  explicit Cases(std::string folder) : folder_(std::move(folder)) {}

  void add(const std::string& name, const Links& links, const Transfers& transfers,
           bool native = false) {
    const Played played = play(links.capacities, transfers);
    std::ofstream out(folder_ + "/" + name + ".case");
    out << "latency " << (native ? "native" : "after") << "\n";
    for (std::size_t l = 0; l < links.capacities.size(); ++l)
      out << fmt::format("link {:.17g} {}\n", links.capacities[l], links.latencies[l]);
    for (const Transfers::RouteOf& route : transfers.routes()) {
      out << "route " << route.latency;
      for (const LinkUse& use : route.links) {
        NEREUS_CHECK(use.weight == 1, "every rank is played");
        out << " " << use.link;
      }
      out << "\n";
    }
    for (std::size_t i = 0; i < transfers.list().size(); ++i)
      out << fmt::format("flow {} {:.17g} {}\n", transfers.list()[i].route,
                         transfers.list()[i].bytes, played.arrivals[i]);
    for (const Transfers::Wait& wait : transfers.waits())
      out << fmt::format("wait {} {} {}\n", wait.transfer, wait.before,
                         wait.sent ? "sent" : "arrived");
    NEREUS_CHECK(out.good(), "the case is written");
  }

  void collective(const std::string& name, const std::vector<Dimension>& dimensions,
                  const CollectiveRequest& request, bool native = false) {
    const Network network(dimensions);
    const Playable playable =
        make_playable(network, program_of(network, request), Fold::none(network));
    Links links{playable.capacities, {}};
    for (const int link : playable.links) {
      const auto d = static_cast<std::size_t>(network.place_of(link).dimension);
      links.latencies.push_back(picoseconds(network.dimensions()[d].latency));
    }
    add(name, links, playable.transfers, native);
  }

 private:
  std::string folder_;
};

// A transfer that starts so much later: nothing but latency comes before it.
void start_later(Transfers& t, int transfer, Picoseconds delay) {
  if (delay > 0) t.after_arrival(transfer, t.add(t.add_route({{0, 1}}, delay), 0));
}

constexpr Picoseconds kMicrosecond = 1'000'000;

void shared_links(Cases& cases) {
  const Links one{{10e9}, {kMicrosecond}};
  {
    Transfers t;
    const int route = t.add_route({{0, 1}}, kMicrosecond);
    t.add(route, 1e6);
    t.add(route, 1e6);
    cases.add("link-two-equal", one, t, true);
  }
  {
    Transfers t;
    const int route = t.add_route({{0, 1}}, kMicrosecond);
    for (const double size : {1e6, 2e6, 3e6, 5e6, 8e6}) t.add(route, size);
    cases.add("link-unequal-sizes", one, t, true);
  }
  {
    Transfers t;
    const int route = t.add_route({{0, 1}}, kMicrosecond);
    for (int i = 0; i < 5; ++i) start_later(t, t.add(route, 4e6), i * 150 * kMicrosecond);
    cases.add("link-staggered-starts", one, t);
  }
  {
    // One flow over five links, on each of which it meets another; the links differ.
    Transfers t;
    Links links;
    Route all;
    for (int l = 0; l < 5; ++l) {
      links.capacities.push_back((10 - l) * 1e9);
      links.latencies.push_back(kMicrosecond);
      all.push_back({l, 1});
    }
    t.add(t.add_route(all, 5 * kMicrosecond), 20e6);
    for (int l = 0; l < 5; ++l) t.add(t.add_route({{l, 1}}, kMicrosecond), 3e6 * (l + 1));
    cases.add("links-parking-lot", links, t);
  }
  {
    // Eight senders into one port, one of them also sends elsewhere.
    Transfers t;
    Links links{std::vector<double>(10, 25e9), std::vector<Picoseconds>(10, 0)};
    for (int i = 0; i < 8; ++i) t.add(t.add_route({{i, 1}, {8, 1}}, 0), 1e6 * (i + 1));
    t.add(t.add_route({{0, 1}, {9, 1}}, 0), 10e6);
    cases.add("links-incast", links, t, true);
  }
}

// Any links, routes of up to four of them, sizes, starts and dependencies.
void random_flows(Cases& cases, int number) {
  Random random(static_cast<std::uint64_t>(number));
  const auto below = [&](int n) {
    return static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
  };
  Links links;
  for (int l = 0; l < 16; ++l) {
    links.capacities.push_back((1 + below(40)) * 1e9);
    links.latencies.push_back(0);
  }
  Transfers t;
  std::vector<int> real;
  for (int i = 0; i < 60; ++i) {
    Route route;
    const int first = below(16), hops = 1 + below(4);
    for (int h = 0; h < hops; ++h) route.push_back({(first + h * 5) % 16, 1});
    const int transfer =
        t.add(t.add_route(route, below(20) * kMicrosecond), 1e5 * (1 + below(200)));
    if (i < 10) start_later(t, transfer, below(2000) * kMicrosecond);
    for (int waits = real.empty() ? 0 : below(3); waits > 0; --waits) {
      const int before = real[static_cast<std::size_t>(below(static_cast<int>(real.size())))];
      if (below(2) == 0)
        t.after_sent(transfer, before);
      else
        t.after_arrival(transfer, before);
    }
    real.push_back(transfer);
  }
  cases.add(fmt::format("random-{}", number), links, t);
}

Dimension dimension(DimensionKind kind, int size, double bandwidth = 50e9,
                    double latency = 500e-9) {
  return {.kind = kind, .size = size, .bandwidth = bandwidth, .latency = latency};
}

Dimension tree(int size, int leaf, double oversubscription) {
  Dimension d = dimension(DimensionKind::kFatTree, size);
  d.leaf = leaf;
  d.oversubscription = oversubscription;
  return d;
}

Dimension dragonfly(int size, int leaf, int group, double global) {
  Dimension d = dimension(DimensionKind::kDragonfly, size);
  d.leaf = leaf;
  d.group = group;
  d.local_bandwidth = 40e9;
  d.global_bandwidth = global;
  return d;
}

CollectiveRequest request(Collective collective, std::vector<Algorithm> algorithms,
                          int chunks = 1) {
  return {.collective = collective,
          .bytes = 64e6,
          .algorithms = std::move(algorithms),
          .chunks = chunks,
          .folding = Folding::kNever};
}

void collectives(Cases& cases) {
  using enum Algorithm;
  using enum Collective;
  const Dimension ring16 = dimension(DimensionKind::kRing, 16);
  const Dimension switch8 = dimension(DimensionKind::kSwitch, 8);
  const Dimension switch16 = dimension(DimensionKind::kSwitch, 16);
  const Dimension full8 = dimension(DimensionKind::kFullyConnected, 8);
  cases.collective("switch8-ring-all-reduce", {switch8}, request(kAllReduce, {kRing}), true);
  cases.collective("ring16-ring-all-reduce", {ring16}, request(kAllReduce, {kRing}), true);
  cases.collective("ring16-direct-all-to-all", {ring16}, request(kAllToAll, {kDirect}));
  cases.collective("ring16-halving-doubling", {ring16}, request(kAllReduce, {kHalvingDoubling}));
  cases.collective("full8-direct-all-to-all", {full8}, request(kAllToAll, {kDirect}), true);
  cases.collective("switch8-direct-all-reduce", {switch8}, request(kAllReduce, {kDirect}), true);
  cases.collective("switch16-halving-doubling", {switch16}, request(kAllReduce, {kHalvingDoubling}),
                   true);
  cases.collective("switch6-halving-doubling", {dimension(DimensionKind::kSwitch, 6)},
                   request(kAllReduce, {kHalvingDoubling}));
  cases.collective("switch15-tree-4-chunks", {dimension(DimensionKind::kSwitch, 15)},
                   request(kAllReduce, {kTree}, 4));
  cases.collective("switch16-double-tree-4-chunks", {switch16},
                   request(kAllReduce, {kDoubleTree}, 4));

  const Dimension ring4 = dimension(DimensionKind::kRing, 4, 80e9, 1e-6);
  const Dimension ring5 = dimension(DimensionKind::kRing, 5, 30e9, 2e-6);
  cases.collective("torus4x4-ring-all-reduce-2-chunks", {ring4, ring4},
                   request(kAllReduce, {kRing, kRing}, 2));
  cases.collective("torus4x5-two-way-ring-all-reduce-2-chunks", {ring4, ring5},
                   request(kAllReduce, {kTwoWayRing, kTwoWayRing}, 2));
  cases.collective("torus4x5-direct-all-to-all", {ring4, ring5},
                   request(kAllToAll, {kDirect, kDirect}));
  cases.collective("torus4x4x5-ring-all-gather-3-chunks", {ring4, ring4, ring5},
                   request(kAllGather, {kRing, kRing, kRing}, 3));
  cases.collective("torus4x4-double-tree-2-chunks", {ring4, ring4},
                   request(kAllReduce, {kRing, kDoubleTree}, 2));

  cases.collective("fat-tree16-direct-all-to-all", {tree(16, 4, 4)}, request(kAllToAll, {kDirect}));
  cases.collective("fat-tree16-ring-all-reduce", {tree(16, 4, 3)}, request(kAllReduce, {kRing}));
  cases.collective("fat-tree32-halving-doubling", {tree(32, 8, 2)},
                   request(kAllReduce, {kHalvingDoubling}));
  cases.collective("fat-tree18-double-tree-4-chunks", {tree(18, 3, 2.5)},
                   request(kAllReduce, {kDoubleTree}, 4));

  const Dimension node = dimension(DimensionKind::kSwitch, 4, 300e9);
  Dimension rails = dimension(DimensionKind::kRails, 8, 25e9, 1e-6);
  cases.collective("rails4x8-ring-halving-doubling-4-chunks", {node, rails},
                   request(kAllReduce, {kRing, kHalvingDoubling}, 4));
  rails.leaf = 2;
  rails.oversubscription = 2;
  cases.collective("rails4x8-tapered-direct-all-to-all", {node, rails},
                   request(kAllToAll, {kDirect, kDirect}));
  cases.collective("rails4x8-tapered-reduce-scatter-2-chunks", {node, rails},
                   request(kReduceScatter, {kHalvingDoubling, kRing}, 2));

  const Dimension fly = dragonfly(24, 2, 3, 100e9);
  cases.collective("dragonfly24-ring-all-reduce", {fly}, request(kAllReduce, {kRing}));
  cases.collective("dragonfly24-direct-all-to-all", {fly}, request(kAllToAll, {kDirect}));
  cases.collective("dragonfly16-halving-doubling", {dragonfly(16, 2, 2, 30e9)},
                   request(kAllReduce, {kHalvingDoubling}));
  cases.collective("dragonfly24-double-tree-3-chunks", {fly},
                   request(kAllReduce, {kDoubleTree}, 3));
}

}  // namespace
}  // namespace nereus::simulate

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: simgrid_cases DIR\n");
    return 2;
  }
  nereus::simulate::Cases cases(argv[1]);
  nereus::simulate::shared_links(cases);
  for (int number = 1; number <= 8; ++number) nereus::simulate::random_flows(cases, number);
  nereus::simulate::collectives(cases);
}
