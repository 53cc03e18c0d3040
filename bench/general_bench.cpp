// How long one general placement of 1,024 ranks takes, all tables built inside the timing: a
// regular plan written out, uneven samples and state on mixed machines, a pipeline of unlike
// stages, and another number of ranks for every layer. Each must stay under 10 ms.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>

#include "cluster/load_cluster.hpp"
#include "model/read/load_model.hpp"
#include "plan/check.hpp"
#include "plan/expand.hpp"
#include "predict/general/general_predictor.hpp"
#include "stack/stack_file.hpp"

namespace {

using namespace nereus;
using plan::LayerRun;
using plan::Placement;
using plan::Replicas;
using plan::StateKind;
using plan::StateShare;

constexpr StateKind kKinds[] = {StateKind::kWeights, StateKind::kGradients, StateKind::kOptimizer};

void add_state(LayerRun& run, int first, int count, int stride, int cut) {
  for (const StateKind kind : kKinds) {
    StateShare share;
    share.kind = kind;
    share.cut = share.num_slices = cut;
    share.ranks = {{first, count, stride}};
    share.pieces = kind == StateKind::kOptimizer ? count : 1;
    run.state.push_back(share);
  }
}

Placement regular(const model::Model& model) {
  plan::Degrees d;
  d.tp = 8;
  d.pp = 16;
  d.dp = 8;
  d.interleave = 2;
  d.schedule = plan::Schedule::kInterleaved;
  d.global_batch = 8 * 64;
  d.zero = 1;
  d.sequence_parallel = true;
  return plan::expand(d, model);
}

// Every rank its own number of samples and its own share of the state: FSDP as Cephalo has it.
Placement uneven(const model::Model& model) {
  Placement placement;
  placement.gather = plan::Gather::kPerPass;
  LayerRun run;
  run.num_layers = model.num_layers();
  std::int64_t samples = 0;
  for (int rank = 0; rank < 1024; ++rank) {
    Replicas r;
    r.first = rank;
    r.micro_batch = rank < 512 ? 1 + rank % 3 : 1;
    r.num_micro_batches = rank < 512 ? 4 : 1 + rank % 2;
    r.first_sample = samples;
    samples += r.samples_per_team();
    run.replicas.push_back(r);
  }
  placement.global_batch = samples;
  const std::int64_t unit = plan::kStateUnits / (3 * 512);  // fast ranks keep two, slow ones one
  std::int64_t begin = 0;
  for (int rank = 0; rank < 1024; ++rank) {
    const std::int64_t end = rank == 1023 ? plan::kStateUnits : begin + (rank < 512 ? 2 : 1) * unit;
    for (const StateKind kind : kKinds) {
      StateShare share;
      share.kind = kind;
      share.ranks = {{rank, 1, 1}};
      share.begin = begin;
      share.end = end;
      run.state.push_back(share);
    }
    begin = end;
  }
  placement.runs.push_back(run);
  return placement;
}

// Fast stages first with many layers, slow ones with few and wider.
Placement unlike_stages(const model::Model& model) {
  Placement placement;
  placement.global_batch = 512;
  const int layers[] = {14, 14, 14, 14, 7, 7, 6, 6};
  int layer = 0;
  for (int stage = 0; stage < 8; ++stage) {
    LayerRun run;
    run.stage = stage;
    run.first_layer = layer;
    run.num_layers = stage == 7 ? model.num_layers() - layer : layers[stage];
    layer += run.num_layers;
    Replicas r;
    r.tp = stage < 4 ? 4 : 8;
    r.count = 128 / r.tp;
    r.first = stage * 128;
    r.team_stride = r.tp;
    r.micro_batch = 1;
    r.num_micro_batches = 512 / r.count;
    r.team_sample_stride = 1;
    r.micro_batch_stride = r.count;
    run.replicas.push_back(r);
    add_state(run, r.first, r.count, r.tp, r.tp);
    placement.runs.push_back(run);
  }
  return placement;
}

// As many ranks per layer as divide the batch, going up and down.
Placement burst(const model::Model& model) {
  Placement placement;
  placement.global_batch = 1024;
  const int widths[] = {1024, 512, 256, 1024, 128, 1024};
  for (int layer = 0; layer < model.num_layers(); ++layer) {
    LayerRun run;
    run.first_layer = layer;
    run.num_layers = 1;
    Replicas r;
    r.count = widths[layer % 6];
    r.micro_batch = 1024 / r.count;
    run.replicas.push_back(r);
    add_state(run, 0, r.count, 1, 1);
    placement.runs.push_back(run);
  }
  return placement;
}

template <class Make>
void predict(benchmark::State& state, const char* model_name, const char* cluster_name,
             const char* stack_name, Make make) {
  const model::Model model = model::load_model(model_name);
  const cluster::Cluster cluster = cluster::load_cluster(cluster_name);
  const cost::Basis basis(cost::load_stack(stack_name));
  const Placement placement = make(model);
  if (const auto errors = plan::check(placement, model, cluster); !errors.empty()) {
    std::fprintf(stderr, "general_bench: %s\n", errors.front().message.c_str());
    std::exit(1);
  }
  double step = 0;
  for (auto _ : state) step = cost::predict(placement, model, cluster, basis).step;
  state.counters["step_s"] = step;
  state.counters["runs"] = static_cast<double>(placement.runs.size());
}

void general_regular(benchmark::State& state) {
  predict(state, "llama3-405b", "128xdgx-h100", "megatron", regular);
}
void general_uneven(benchmark::State& state) {
  predict(state, "llama3-8b", "64xdgx-h100+64xdgx-a100-80", "torchtitan", uneven);
}
void general_unlike_stages(benchmark::State& state) {
  predict(state, "llama3-70b", "64xdgx-h100+64xdgx-a100-80", "megatron", unlike_stages);
}
void general_burst(benchmark::State& state) {
  predict(state, "wide-resnet101-2", "128xdgx-a100-80", "generic", burst);
}
BENCHMARK(general_regular)->Unit(benchmark::kMillisecond);
BENCHMARK(general_uneven)->Unit(benchmark::kMillisecond);
BENCHMARK(general_unlike_stages)->Unit(benchmark::kMillisecond);
BENCHMARK(general_burst)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
