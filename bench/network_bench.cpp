// How fast collectives are simulated: 64 MiB on 4,096 devices, folded; and events per second of one
// core where every rank is played.
//
// Limits: 10 ms for the folded ones, 5 million events a second for the others. `events` counts
// starts, ends and arrivals. `simulate_*` is all of it, from the network to the answer; `play_*`
// leaves out the writing down of transfers and what they wait for. What does not depend on the
// machine is held: one rank (or one leaf, or one group) stands for all 4,096.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "allocations.hpp"
#include "simulate/network/collective_run.hpp"

namespace nereus::simulate {
namespace {

Dimension dimension(DimensionKind kind, int size, double bandwidth = 50e9) {
  return {.kind = kind, .size = size, .bandwidth = bandwidth, .latency = 500e-9};
}

Dimension tree(int size, int leaf) {
  Dimension d = dimension(DimensionKind::kFatTree, size);
  d.leaf = leaf;
  d.oversubscription = 2;
  return d;
}

Dimension dragonfly(int size, int leaf, int group) {
  Dimension d = dimension(DimensionKind::kDragonfly, size);
  d.leaf = leaf;
  d.group = group;
  d.global_bandwidth = 200e9;
  return d;
}

CollectiveRequest all_reduce(std::vector<Algorithm> algorithms, int chunks = 1) {
  return {.collective = Collective::kAllReduce,
          .bytes = 64 << 20,
          .algorithms = std::move(algorithms),
          .chunks = chunks};
}

void folded(benchmark::State& state, const std::vector<Dimension>& dimensions,
            const CollectiveRequest& request, int most_played) {
  SimulatedCollective answer;
  for (auto _ : state) benchmark::DoNotOptimize(answer = simulate(Network(dimensions), request));
  if (answer.ranks_played > most_played) {
    std::fprintf(stderr, "%d ranks are played where %d stand for all\n", answer.ranks_played,
                 most_played);
    std::exit(1);
  }
  state.counters["collective_s"] = answer.seconds;
  state.counters["events"] = static_cast<double>(answer.events);
  state.counters["represented"] = static_cast<double>(answer.events_represented);
}

void unfolded(benchmark::State& state, const std::vector<Dimension>& dimensions,
              CollectiveRequest request, bool play_alone) {
  request.folding = Folding::kNever;
  const Network network(dimensions);
  const Program program = program_of(network, request);
  const Playable playable = make_playable(network, program, Fold::none(network));
  std::int64_t events = 0;
  const long before = bench::num_allocations();
  for (auto _ : state)
    events += play_alone ? play(playable.capacities, playable.transfers).events
                         : simulate(network, request).events;
  const auto made = static_cast<double>(bench::num_allocations() - before);
  // Lists that grow once, not something for every event.
  const double per_event = made / static_cast<double>(std::max<std::int64_t>(1, events));
  if (play_alone && per_event > 0.5) {
    std::fprintf(stderr, "%g allocations an event\n", per_event);
    std::exit(1);
  }
  if (play_alone) state.counters["allocations_per_event"] = per_event;
  state.SetItemsProcessed(events);
}

using Dimensions = std::vector<Dimension>;
const Dimensions kRing{dimension(DimensionKind::kRing, 4096)};
const Dimensions kSwitch{dimension(DimensionKind::kSwitch, 4096)};
const Dimensions kNodes{dimension(DimensionKind::kSwitch, 8, 450e9),
                        dimension(DimensionKind::kRails, 512)};
const Dimensions kTorus(3, dimension(DimensionKind::kRing, 16));
const auto kRings = [](std::size_t n) { return std::vector<Algorithm>(n, Algorithm::kRing); };

BENCHMARK_CAPTURE(folded, ring_4096, kRing, all_reduce(kRings(1)), 1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(folded, switch_4096_direct, kSwitch, all_reduce({Algorithm::kDirect}), 1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(folded, switch_4096_halving_doubling, kSwitch,
                  all_reduce({Algorithm::kHalvingDoubling}), 1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(folded, nodes_8x512_4_chunks, kNodes, all_reduce(kRings(2), 4), 1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(folded, torus_16x16x16, kTorus, all_reduce(kRings(3), 4), 1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(folded, fat_tree_4096_leaf_32_halving_doubling, Dimensions{tree(4096, 32)},
                  all_reduce({Algorithm::kHalvingDoubling}), 32)
    ->Unit(benchmark::kMillisecond);

BENCHMARK_CAPTURE(unfolded, simulate_ring_512, Dimensions{dimension(DimensionKind::kRing, 512)},
                  all_reduce(kRings(1)), false)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(unfolded, play_ring_512, Dimensions{dimension(DimensionKind::kRing, 512)},
                  all_reduce(kRings(1)), true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(unfolded, play_torus_8x8x8, (Dimensions(3, dimension(DimensionKind::kRing, 8))),
                  all_reduce(kRings(3), 4), true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(unfolded, play_fat_tree_512_ring, Dimensions{tree(512, 16)},
                  all_reduce(kRings(1)), true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(unfolded, play_switch_64_direct,
                  Dimensions{dimension(DimensionKind::kSwitch, 64)},
                  all_reduce({Algorithm::kDirect}), true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(unfolded, play_dragonfly_72_ring, Dimensions{dragonfly(72, 2, 4)},
                  all_reduce(kRings(1)), true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(unfolded, play_switch_512_double_tree,
                  Dimensions{dimension(DimensionKind::kSwitch, 512)},
                  all_reduce({Algorithm::kDoubleTree}, 32), true)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace nereus::simulate

BENCHMARK_MAIN();
