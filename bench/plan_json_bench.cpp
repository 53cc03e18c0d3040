// How large the file of a plan for 16,384 ranks x 126 layers is, and how long reading, checking and
// writing it take. It must stay under 1 MB and be parsed in under 50 ms.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>

#include "cluster/load_cluster.hpp"
#include "model/read/load_model.hpp"
#include "plan/check.hpp"
#include "plan/expand.hpp"
#include "plan/plan_json.hpp"

namespace {

using namespace nereus;

// llama3-405b on 2,048 nodes: two virtual stages short of one a block, so that as many runs as can
// be are written out.
plan::Plan make_plan() {
  plan::Plan plan;
  plan.model = model::load_model("llama3-405b");
  plan.cluster = cluster::load_cluster("2048xdgx-h100");
  plan.stack = "megatron";
  plan::Degrees d;
  d.tp = 8;
  d.pp = 16;
  d.dp = 128;
  d.interleave = 8;
  d.schedule = plan::Schedule::kInterleaved;
  d.global_batch = 2048;
  d.zero = 1;
  d.sequence_parallel = true;
  plan.degrees = plan::canonical(d, plan.model);
  plan.placement = plan::expand(d, plan.model);
  return plan;
}

const plan::Plan& the_plan() {
  static const plan::Plan instance = make_plan();
  return instance;
}

void fail(const char* what) {
  std::fprintf(stderr, "plan_json_bench: %s\n", what);
  std::exit(1);
}

void write_plan(benchmark::State& state) {
  std::size_t bytes = 0;
  for (auto _ : state) bytes = plan::plan_to_json(the_plan()).size();
  if (bytes > 1'000'000) fail("the file is larger than 1 MB");
  state.counters["bytes"] = static_cast<double>(bytes);
  state.counters["layers"] = the_plan().model.num_layers();
  state.counters["runs"] = static_cast<double>(the_plan().placement.runs.size());
}
BENCHMARK(write_plan)->Unit(benchmark::kMillisecond);

void parse_plan(benchmark::State& state) {
  const std::string text = plan::plan_to_json(the_plan());
  plan::Plan read;
  for (auto _ : state) read = plan::parse_plan(text, "bench.plan");
  if (!(read == the_plan())) fail("what was read is not what was written");
}
BENCHMARK(parse_plan)->Unit(benchmark::kMillisecond);

void check_plan(benchmark::State& state) {
  for (auto _ : state)
    if (!plan::check_plan(the_plan()).empty()) fail("the plan does not pass its check");
}
BENCHMARK(check_plan)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
