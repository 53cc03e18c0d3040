// How long `nereus plan` looks for the best plan on a cluster of several kinds of node, and how it
// compares with simple rules under the same predictor (counters: seconds of a step).
//
// Fails where a rule that fits is quicker than the plan.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "cluster/load_cluster.hpp"
#include "model/read/load_model.hpp"
#include "search/mixed/mixed_search.hpp"
#include "stack/stack_file.hpp"

namespace {

using namespace nereus;

// The two regions: nodes of one kind, the second half behind a tenth of the network.
constexpr const char* kRegions = "4xp4d.24xlarge+4xp4d.24xlarge";

void mixed(benchmark::State& state, const std::string& name, const std::string& machines, int batch,
           cluster::Precision precision) {
  const model::Model model = model::load_model(name);
  cluster::Cluster cluster = cluster::load_cluster(machines);
  if (machines == kRegions)
    cluster.groups.back().node.network =
        BytesPerSecond{cluster.groups.back().node.network.value / 10};
  const cost::Basis basis(cost::load_stack("megatron"));
  mixed::MixedOptions options;
  options.global_batch = batch;
  options.precision = precision;
  mixed::MixedResult found;
  for (auto _ : state) found = mixed::search(model, cluster, basis, options);
  if (found.plans.empty()) {
    state.SkipWithError("no plan fits");
    return;
  }
  const double best = found.plans.front().prediction.step;
  for (const mixed::MixedPlan& own : found.plans) {
    state.counters[own.family] = own.prediction.step;
    if (own.prediction.step < best) {
      std::fprintf(stderr, "mixed_bench: %s is quicker than the plan\n", own.family.c_str());
      std::exit(1);
    }
  }
  state.counters["devices"] = cluster.num_devices();
  state.counters["bound"] = found.bound;
}

void add(const char* cluster_name, const std::string& machines,
         std::initializer_list<const char*> models, int batch,
         cluster::Precision precision = cluster::Precision::kFp16) {
  for (const char* model : models)
    benchmark::RegisterBenchmark((std::string(cluster_name) + "/" + model).c_str(), mixed, model,
                                 machines, batch, precision)
        ->Unit(benchmark::kMillisecond)
        ->Iterations(1);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  add("lab", "2xg6.4xlarge+1xworkstation-rtx-a6000+1xworkstation-p40",
      {"bert-large", "vit-l-16", "gpt3-1.3b", "opt-350m"}, 64,
      cluster::Precision::kFp32);  // the P40 has no fp16 to speak of
  const auto models = {"bert-large", "vit-h-14",    "gpt3-1.3b", "gpt-neo-2.7b",
                       "gpt3-6.7b",  "llama3.2-3b", "llama2-7b", "opt-350m"};
  add("four-kinds", "1xdgx-a100-40+4xg5.12xlarge+2xp3.16xlarge+6xg4dn.12xlarge", models, 1024);
  add("h100-a100", "4xdgx-h100+4xdgx-a100-80", models, 1024);
  add("a100-v100", "4xdgx-a100-40+12xp3.16xlarge", models, 1024);
  add("two-regions", kRegions, models, 1024);
  add("three-by-256", "32xdgx-h100+32xdgx-a100-80+32xp3dn.24xlarge",
      {"bert-large", "gpt2-xl", "opt-350m", "llama2-7b"}, 2048);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
