// One step of a plan, simulated: Transformer-1T (128 layers, 1,024 devices, tp 8 x dp 128) layer by
// layer with every collective on the network, from the model to the answer; gpt3-175b with jitter
// on 512 devices, every team played; the same on shared links.
#include <benchmark/benchmark.h>

#include "chakra/chakra_play.hpp"
#include "cluster/load_cluster.hpp"
#include "model/read/load_model.hpp"
#include "plan/complete.hpp"
#include "predict/predictor.hpp"
#include "simulate/network/cluster_network.hpp"
#include "simulate/shared_links.hpp"
#include "simulate/step.hpp"
#include "stack/stack_file.hpp"

namespace {

using namespace nereus;

struct Inputs {
  model::Model model;
  cluster::Cluster cluster;
  cost::Basis basis;
  plan::Degrees degrees;
};

Inputs inputs(const char* model, const char* cluster, const plan::DegreesRequest& request) {
  Inputs in{model::load_model(model),
            cluster::load_cluster(cluster),
            cost::Basis(cost::builtin_stacks().resolve("megatron")),
            {}};
  in.degrees = plan::complete_degrees(request, in.model, in.cluster).degrees;
  return in;
}

void transformer_1t_layers(benchmark::State& state) {
  const Inputs in =
      inputs("megatron-1t", "128xdgx-a100-80", {.tp = 8, .dp = 128, .global_batch = 128});
  chakra::LayerPlay play;
  for (auto _ : state) {
    play = chakra::play_layers(chakra::make_step(in.model, in.cluster, in.basis, in.degrees),
                               simulate::network_of(in.cluster));
    benchmark::DoNotOptimize(play);
  }
  state.counters["nodes"] = static_cast<double>(play.nodes);
  state.counters["events"] = static_cast<double>(play.events);
  state.counters["step_s"] = play.seconds;
}
BENCHMARK(transformer_1t_layers)->Unit(benchmark::kMillisecond);

void gpt3_with_jitter(benchmark::State& state) {
  const Inputs in = inputs("gpt3-175b", "64xdgx-a100-80", {.tp = 8, .pp = 8, .global_batch = 1536});
  const cost::StepWork work = cost::Predictor(in.model, in.cluster, in.basis, 1).work(in.degrees);
  simulate::StepOptions options;
  options.jitter.compute = simulate::parse_distribution("normal:5%");
  std::int64_t events = 0;
  for (auto _ : state) {
    const simulate::SimulatedStep step = simulate::simulate_step(work, options);
    events += step.events;
    benchmark::DoNotOptimize(step.step);
  }
  state.counters["events/s"] =
      benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}
BENCHMARK(gpt3_with_jitter)->Unit(benchmark::kMillisecond);

void gpt3_shared_links(benchmark::State& state) {
  const Inputs in = inputs("gpt3-175b", "64xdgx-a100-80", {.tp = 8, .pp = 8, .global_batch = 1536});
  const cost::StepWork work = cost::Predictor(in.model, in.cluster, in.basis, 1).work(in.degrees);
  const simulate::SimulatedStep step = simulate::simulate_step(work, {});
  std::int64_t events = 0;
  for (auto _ : state) events += simulate::play_on_shared_links(work, step).events;
  state.counters["events/s"] =
      benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}
BENCHMARK(gpt3_shared_links)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
