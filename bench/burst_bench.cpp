// How long `nereus plan --burst` takes on 1,024 ranks (128 dgx-a100-80), all of it inside: times of
// layers, the whole front, the plans that are shown with their predictions.
//
// VGG-16, wide ResNet-101-2 and Inception-v3 at 32 to 1,024 samples, every count of ranks; with
// branches on the trunk's ranks, and on ranks of their own (apart). Fails where a front has a gap
// or is empty. plans: of the front; counts: of ranks that were candidates.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "app/plan/plan_burst.hpp"

namespace {

using namespace nereus;

void fail(const char* what) {
  std::fprintf(stderr, "burst_bench: %s\n", what);
  std::exit(1);
}

void burst(benchmark::State& state, const std::string& name, bool apart) {
  app::PlanRequest request;
  request.model.model = name;
  request.cluster.cluster = "128xdgx-a100-80";
  request.choices.global_batch = static_cast<int>(state.range(0));
  app::BurstOptions options;
  options.branches_apart = apart;
  app::BurstAnswer answer;
  for (auto _ : state) answer = app::plan_burst(request, options);
  if (answer.front.plans.empty()) fail("no plan fits");
  if (answer.front.gap > 0) fail("the front has a gap");
  state.counters["plans"] = static_cast<double>(answer.front.plans.size());
  state.counters["counts"] = static_cast<double>(answer.counts.size());
  state.counters["fastest_s"] = answer.front.plans.front().seconds;
}

void batches(benchmark::internal::Benchmark* own) {
  own->Arg(32)->Arg(64)->Arg(256)->Arg(1000)->Arg(1024);
  own->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(1);
}

BENCHMARK_CAPTURE(burst, vgg16, "vgg16", false)->Apply(batches);
BENCHMARK_CAPTURE(burst, wide_resnet101_2, "wide-resnet101-2", false)->Apply(batches);
BENCHMARK_CAPTURE(burst, inception_v3, "inception-v3", false)->Apply(batches);
BENCHMARK_CAPTURE(burst, wide_resnet101_2_apart, "wide-resnet101-2", true)->Apply(batches);
BENCHMARK_CAPTURE(burst, inception_v3_apart, "inception-v3", true)->Apply(batches);

}  // namespace

BENCHMARK_MAIN();
