// How fast a pipeline is played: 49 stages x 512 micro-batches x 8 replicas, every pass and message
// of its own length.
//
// The shape of Varuna's largest run (its simulator takes 0.8 s for one replica of it). Passes vary
// by 5 %, messages by delays of half their time; every replica draws its own. 1F1B in its static
// order, Varuna as its workers run it, which is played in the order of time. One iteration plays
// all replicas, one after the other or on two threads; orders are made and checked before
// (`pipeline_make`). An event is a start or an end of a pass or an arrival of a message. Playing
// must not allocate.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "allocations.hpp"
#include "simulate/pipeline/varuna.hpp"

namespace {

using namespace nereus;
using namespace nereus::simulate;

constexpr PipelineSize kSize{49, 1, 512};
constexpr int kReplicas = 8;
constexpr Picoseconds kMillisecond = 1'000'000'000;

void fail(const char* what) {
  std::fprintf(stderr, "pipeline_bench: %s\n", what);
  std::exit(1);
}

PassTimes times() {
  return equal_times(kSize, {100 * kMillisecond, 100 * kMillisecond, 100 * kMillisecond,
                             20 * kMillisecond, 20 * kMillisecond, 100 * kMillisecond});
}

Jitter jitter() {
  return {.compute = {Distribution::Kind::kNormal, 0.05},
          .link = {Distribution::Kind::kDelay, 0.5},
          .slow = {},
          .seed = 1};
}

const PlayedPipeline& played(const PlayedPipeline& p) { return p; }
const PlayedPipeline& played(const PlayedVaruna& p) { return p.played; }

PipelinePlayer make_1f1b() { return {schedule::one_f_one_b_order(kSize), kSize}; }
VarunaPlayer make_varuna() { return VarunaPlayer(kSize); }

// All replicas of one step; thread `first` of `threads` takes every `threads`-th.
template <class Player>
void play_some(Player& player, const PassTimes& pass_times, const Jitter& varied, int first,
               int threads, std::int64_t& events, Picoseconds& end) {
  for (int replica = first; replica < kReplicas; replica += threads) {
    const Draws draws(varied, 0, static_cast<std::uint64_t>(replica), replica * kSize.depth);
    const PlayedPipeline& p = played(player.play(pass_times, &draws));
    events += p.events;
    end = std::max(end, p.end);
  }
}

template <class Make>
void play_all(benchmark::State& state, Make make) {
  const auto threads = static_cast<int>(state.range(0));
  const PassTimes pass_times = times();
  const Jitter varied = jitter();
  std::vector<decltype(make())> players;
  for (int i = 0; i < threads; ++i) players.push_back(make());
  std::vector<std::int64_t> events(static_cast<std::size_t>(threads));
  std::vector<Picoseconds> ends(static_cast<std::size_t>(threads));
  std::int64_t all = 0;
  for (auto _ : state) {
    std::fill(events.begin(), events.end(), 0);
    std::fill(ends.begin(), ends.end(), 0);
    const long before = bench::num_allocations();
    if (threads == 1) {
      play_some(players[0], pass_times, varied, 0, 1, events[0], ends[0]);
      if (bench::num_allocations() != before) fail("a play allocated");
    } else {
      std::vector<std::thread> workers;
      for (int i = 0; i < threads; ++i)
        workers.emplace_back([&, i] {
          const auto own = static_cast<std::size_t>(i);
          play_some(players[own], pass_times, varied, i, threads, events[own], ends[own]);
        });
      for (std::thread& worker : workers) worker.join();
    }
    all = 0;
    for (const std::int64_t own : events) all += own;
  }
  const Picoseconds end = *std::max_element(ends.begin(), ends.end());
  state.SetItemsProcessed(state.iterations() * all);
  state.counters["events"] = static_cast<double>(all);
  state.counters["step_s"] = static_cast<double>(end) * 1e-12;
}

void pipeline_1f1b(benchmark::State& state) { play_all(state, make_1f1b); }
BENCHMARK(pipeline_1f1b)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void pipeline_varuna(benchmark::State& state) { play_all(state, make_varuna); }
BENCHMARK(pipeline_varuna)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// Both orders, found and checked.
void pipeline_make(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(make_1f1b());
    benchmark::DoNotOptimize(make_varuna());
  }
}
BENCHMARK(pipeline_make)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
