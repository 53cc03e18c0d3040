// How long `nereus plan` looks for the best plan, all of it inside: listing the space, tables,
// bounds, predictions.
//
// gpt3-175b and megatron-1t on 512 dgx-a100-80 (4,096 devices), batch 4096, on one and two threads;
// a GPT of 200 B parameters on 1,000 spot machines of one GPU, with jitter played. Fails where a
// space has fewer than a million candidates, where the answers differ, or where no plan fits.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "cluster/load_cluster.hpp"
#include "model/read/load_model.hpp"
#include "model/transformer.hpp"
#include "search/elastic/spot.hpp"
#include "search/regular/regular_search.hpp"
#include "stack/stack_file.hpp"

namespace {

using namespace nereus;

void fail(const char* what) {
  std::fprintf(stderr, "plan_bench: %s\n", what);
  std::exit(1);
}

void plan(benchmark::State& state, const std::string& name) {
  const model::Model model = model::load_model(name);
  const std::vector<cluster::Cluster> clusters = {cluster::load_cluster("512xdgx-a100-80")};
  const cost::Basis basis(cost::load_stack("megatron"));
  search::Choices choices;
  choices.global_batch = 4096;
  search::SearchOptions options;
  options.threads = static_cast<int>(state.range(0));
  search::SearchResult result;
  for (auto _ : state) result = search::search(model, clusters, basis, choices, options);
  if (result.space < 1'000'000) fail("fewer than a million candidates");
  if (result.plans.empty()) fail("no plan fits");
  static std::map<std::string, search::SearchResult> known;
  const auto [before, first] = known.try_emplace(name, result);
  const auto same = [](const search::SearchResult& a, const search::SearchResult& b) {
    if (a.plans.size() != b.plans.size() || a.evaluated != b.evaluated) return false;
    for (std::size_t i = 0; i < a.plans.size(); ++i)
      if (a.plans[i].degrees != b.plans[i].degrees ||
          a.plans[i].prediction.step != b.plans[i].prediction.step)
        return false;
    return true;
  };
  if (!same(before->second, result)) fail("another number of threads gives another answer");
  state.counters["space"] = static_cast<double>(result.space);
  state.counters["evaluated"] = static_cast<double>(result.evaluated);
  state.counters["best_step_s"] = result.plans.front().prediction.step;
}
BENCHMARK_CAPTURE(plan, gpt3_175b, "gpt3-175b")
    ->Arg(1)
    ->Arg(2)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(plan, megatron_1t, "megatron-1t")
    ->Arg(1)
    ->Arg(2)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void spot(benchmark::State& state) {
  model::TransformerShape shape;
  shape.name = "gpt";
  shape.layers = 100;
  shape.hidden = 12800;
  shape.heads = shape.kv_heads = 128;
  shape.ffn = 4 * shape.hidden;
  shape.vocab = 50257;
  shape.seq = 1024;
  const model::Model model = model::build_transformer(shape);
  cluster::Cluster cluster = cluster::load_cluster("1000xStandard_NC24ads_A100_v4");
  cluster.groups.front().node.network = BytesPerSecond{10e9 / 8};
  const cost::Basis basis(cost::load_stack("megatron"));
  simulate::Jitter jitter;
  jitter.compute = simulate::parse_distribution("normal:2ms");
  jitter.link = simulate::parse_distribution("delay:10ms");
  jitter.seed = 1;
  const elastic::SpotProblem problem{model, cluster, basis, 8192, cluster::Precision::kBf16,
                                     jitter};
  elastic::SpotResult found;
  for (auto _ : state) found = elastic::search(problem);
  if (found.plans.empty()) fail("no plan fits the spot machines");
}
BENCHMARK(spot)->Unit(benchmark::kMillisecond)->Iterations(1)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
