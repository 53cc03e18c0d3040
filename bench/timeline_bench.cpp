// What comes out of a simulation: a trace of a million slices written, zipped and checked, a
// picture of it, and Chakra's execution traces of 1,024 ranks.
#include <benchmark/benchmark.h>

#include "base/gzip.hpp"
#include "chakra/write_chakra.hpp"
#include "cluster/load_cluster.hpp"
#include "model/read/load_model.hpp"
#include "stack/stack_file.hpp"
#include "timeline/check_trace.hpp"
#include "timeline/chrome_trace.hpp"
#include "timeline/svg.hpp"

namespace {

using namespace nereus;

// 64 ranks of 512 micro-batches: about a million slices, a flow for every eighth.
const timeline::Timeline& million() {
  static const timeline::Timeline instance = [] {
    timeline::Timeline t;
    for (int lane = 0; lane < 64; ++lane) {
      t.lanes.push_back({lane, "stage " + std::to_string(lane), "compute"});
      std::int64_t at = 1'234'567 * lane;
      for (int i = 0; i < 15'625; ++i) {
        const std::int64_t end = at + 1'500'000 + 977 * (i % 1000);
        const auto kind = static_cast<timeline::SliceKind>(i % 4);
        t.slices.push_back({lane, at, end, kind, lane, i / 31});
        if (i % 8 == 0 && lane > 0)
          t.flows.push_back({lane, at, lane, end, lane * 100'000LL + i, "activation"});
        at = end;
      }
    }
    return t;
  }();
  return instance;
}

void report(benchmark::State& state, std::size_t bytes) {
  state.counters["slices"] = static_cast<double>(million().slices.size());
  state.counters["flows"] = static_cast<double>(million().flows.size());
  state.counters["bytes"] = static_cast<double>(bytes);
}

void trace_write(benchmark::State& state) {
  std::size_t bytes = 0;
  for (auto _ : state) bytes = timeline::chrome_trace(million()).size();
  report(state, bytes);
}

void trace_zip(benchmark::State& state) {
  const std::string text = timeline::chrome_trace(million());
  std::size_t bytes = 0;
  for (auto _ : state) bytes = gzip(text).size();
  report(state, bytes);
}

void trace_check(benchmark::State& state) {
  const std::string text = timeline::chrome_trace(million());
  for (auto _ : state)
    if (timeline::check_trace(text).num_faults != 0) state.SkipWithError("the trace has faults");
  report(state, text.size());
}

void picture(benchmark::State& state) {
  std::size_t bytes = 0;
  for (auto _ : state) bytes = timeline::svg_picture(million(), "a million slices").size();
  report(state, bytes);
}

// gpt3-175b on 128 dgx-a100-80: tp 8, pp 8, dp 16, 64 micro-batches.
void chakra_traces(benchmark::State& state) {
  plan::Degrees d;
  d.tp = d.pp = 8;
  d.dp = 16;
  d.global_batch = 1024;
  d.zero = 1;
  d.sequence_parallel = true;
  const model::Model model = model::load_model("gpt3-175b");
  const cluster::Cluster cluster = cluster::load_cluster("128xdgx-a100-80");
  const cost::Basis basis(cost::builtin_stacks().resolve("megatron"));
  double bytes = 0;
  double nodes = 0;
  for (auto _ : state) {
    bytes = nodes = 0;
    const chakra::ChakraStep step = chakra::make_step(model, cluster, basis, d);
    for (int rank = 0; rank < step.num_ranks(); ++rank) {
      bytes += static_cast<double>(step.trace(rank).size());
      nodes += static_cast<double>(step.graph_of(rank).nodes.size());
    }
  }
  state.counters["bytes"] = bytes;
  state.counters["nodes"] = nodes;
}

BENCHMARK(trace_write)->Unit(benchmark::kMillisecond);
BENCHMARK(trace_zip)->Unit(benchmark::kMillisecond);
BENCHMARK(trace_check)->Unit(benchmark::kMillisecond);
BENCHMARK(picture)->Unit(benchmark::kMillisecond);
BENCHMARK(chakra_traces)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
