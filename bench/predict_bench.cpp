// How many regular plans the closed form predicts in a second on one core.
//
// gpt3-175b on 512 dgx-a100-80 (4,096 devices), batch 4096: every plan of these degrees that can be
// built, each once, in the order of the loops. One iteration makes a predictor with empty tables
// and predicts them all, so building every table is inside the timing. A second pass over the same
// plans must not allocate.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <tuple>
#include <vector>

#include "allocations.hpp"
#include "cluster/load_cluster.hpp"
#include "model/read/load_model.hpp"
#include "plan/expand.hpp"
#include "plan/rules.hpp"
#include "predict/predictor.hpp"
#include "stack/stack_file.hpp"

namespace {

using namespace nereus;
using plan::Degrees;

struct Setting {
  model::Model model = model::load_model("gpt3-175b");
  cluster::Cluster cluster = cluster::load_cluster("512xdgx-a100-80");
  cost::Basis basis{cost::load_stack("megatron")};
};

const Setting& setting() {
  static const Setting instance;
  return instance;
}

// All fields that a plan of this space differs in.
auto fields(const Degrees& d) {
  return std::tuple(d.tp, d.pp, d.dp, d.cp, d.interleave, d.micro_batch, d.recompute, d.zero,
                    d.zero_group, d.sequence_parallel, d.tensor_overlap, d.schedule);
}

std::vector<Degrees> all_plans() {
  const Setting& s = setting();
  const plan::DegreeLimits limits = plan::degree_limits(s.model, s.cluster);
  std::vector<Degrees> plans;
  std::set<decltype(fields(Degrees{}))> seen;
  const auto offer = [&](const Degrees& d) {
    if (plan::violated_rules(d, limits) != 0) return;
    // Written differently, but the same: ZeRO over one rank, for example.
    const Degrees canonical = plan::canonical(d, s.model);
    if (seen.insert(fields(canonical)).second) plans.push_back(canonical);
  };
  Degrees d;
  d.global_batch = 4096;
  for (d.tp = 1; d.tp <= 32; d.tp *= 2)
    for (d.cp = 1; d.cp <= 4; d.cp *= 2)
      for (d.pp = 1; d.pp <= 64; d.pp *= 2) {
        d.dp = 4096 / (d.tp * d.cp * d.pp);
        for (d.interleave = 1; d.pp * d.interleave <= 96; ++d.interleave)
          for (d.micro_batch = 1; d.micro_batch <= 64; d.micro_batch *= 2)
            for (int recompute = 0; recompute < 3; ++recompute)
              for (d.zero = 0; d.zero <= 3; ++d.zero)
                for (int flags = 0; flags < 8; ++flags) {
                  d.recompute = static_cast<plan::Recompute>(recompute);
                  d.sequence_parallel = (flags & 1) != 0;
                  d.tensor_overlap = (flags & 2) != 0;
                  if (d.tp == 1 && d.tensor_overlap) continue;
                  const bool gpipe = (flags & 4) != 0;
                  if (gpipe && (d.interleave > 1 || d.pp == 1)) continue;
                  d.schedule = gpipe              ? plan::Schedule::kGpipe
                               : d.interleave > 1 ? plan::Schedule::kInterleaved
                                                  : plan::Schedule::k1f1b;
                  offer(d);
                }
      }
  return plans;
}

const std::vector<Degrees>& plans() {
  static const std::vector<Degrees> instance = all_plans();
  return instance;
}

void fail(const char* what) {
  std::fprintf(stderr, "predict_bench: %s\n", what);
  std::exit(1);
}

void predict_all(benchmark::State& state) {
  const Setting& s = setting();
  const std::vector<Degrees>& all = plans();
  if (all.size() < 100'000) fail("fewer than 100,000 distinct plans");
  double best = 0;
  double fitting = 0;
  for (auto _ : state) {
    cost::Predictor predictor(s.model, s.cluster, s.basis);
    best = 1e300;
    fitting = 0;
    for (const Degrees& d : all) {
      const cost::Prediction p = predictor.predict(d);
      if (!p.fits) continue;
      ++fitting;
      best = std::min(best, p.step);
    }
    benchmark::DoNotOptimize(best);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(all.size()));
  state.counters["plans"] = static_cast<double>(all.size());
  state.counters["fitting"] = fitting;
  state.counters["best_step_s"] = best;
}
BENCHMARK(predict_all)->Unit(benchmark::kMillisecond);

// Every plan once more, after a predictor has seen it.
void predict_again(benchmark::State& state, const std::vector<Degrees>& all) {
  const Setting& s = setting();
  cost::Predictor predictor(s.model, s.cluster, s.basis);
  for (const Degrees& d : all) predictor.predict(d);
  long allocations = 0;
  double sum = 0;
  for (auto _ : state) {
    const long before = bench::num_allocations();
    for (const Degrees& d : all) sum += predictor.predict(d).step;
    allocations += bench::num_allocations() - before;
  }
  benchmark::DoNotOptimize(sum);
  if (allocations != 0) fail("a prediction allocated although its plan had been seen before");
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(all.size()));
  state.counters["plans"] = static_cast<double>(all.size());
  state.counters["allocations"] = static_cast<double>(allocations);
}

// Tables are there: what a search pays for each further plan.
void predict_warm(benchmark::State& state) { predict_again(state, plans()); }
BENCHMARK(predict_warm)->Unit(benchmark::kMillisecond);

// The same for plans whose passes are always played: those with 1F1B, as Varuna runs them.
void predict_varuna(benchmark::State& state) {
  const Setting& s = setting();
  const plan::DegreeLimits limits = plan::degree_limits(s.model, s.cluster);
  std::vector<Degrees> all;
  for (Degrees d : plans()) {
    if (d.pp == 1 || d.schedule != plan::Schedule::k1f1b) continue;
    d.schedule = plan::Schedule::kVaruna;
    if (plan::violated_rules(d, limits) == 0) all.push_back(d);
  }
  if (all.size() < 1000) fail("fewer than 1,000 plans with Varuna");
  predict_again(state, all);
}
BENCHMARK(predict_varuna)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
