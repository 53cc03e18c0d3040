// How far the closed form of a step is from its play, over 60,000 random regular plans of catalogue
// models, clusters and stacks, with overlap and unequal stages, schedule by schedule. The time is
// that of drawing, predicting and playing them.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "simulate/simulate_testing.hpp"
#include "simulate/step.hpp"

namespace {

using namespace nereus;

void closed_form_against_play(benchmark::State& state) {
  std::map<std::string, std::vector<double>> errors;
  for (auto _ : state) {
    errors.clear();
    for (const std::uint64_t seed : {7u, 2u}) {
      Random random(seed);
      for (int cases = 0; cases < 30'000;) {
        const auto plan = simulate::testing::real_plan(random);
        if (!plan) continue;
        ++cases;
        const plan::Degrees& d = plan->degrees;
        const cost::StepWork work = plan->work();
        const double error =
            std::abs(simulate::simulate_step(work, {}).step / work.prediction.step - 1);
        std::string name(to_string(d.schedule));
        if (d.interleave > 1 && d.schedule != plan::Schedule::kZbV) name += " virtual";
        if (d.pp == 1) name = "one stage";
        errors[name].push_back(error);
        errors["all"].push_back(error);
      }
    }
  }
  std::string label;
  for (auto& [name, list] : errors) {
    double sum = 0;
    double worst = 0;
    double over = 0;
    for (const double error : list) {
      sum += error;
      worst = std::max(worst, error);
      over += error > 0.05 ? 1 : 0;
    }
    const auto count = static_cast<double>(list.size());
    char line[160];
    std::snprintf(line, sizeof line,
                  "\n  %-20s %6.0f plans  mean %5.2f %%  over 5 %%: %5.2f %%  worst %5.1f %%",
                  name.c_str(), count, 100 * sum / count, 100 * over / count, 100 * worst);
    label += line;
  }
  state.SetLabel(label);
}
BENCHMARK(closed_form_against_play)->Unit(benchmark::kSecond)->Iterations(1);

}  // namespace

BENCHMARK_MAIN();
