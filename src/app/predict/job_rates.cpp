#include "app/predict/job_rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.hpp"
#include "base/parse_number.hpp"
#include "search/elastic/spot.hpp"
#include "spec/csv.hpp"

namespace nereus::app {

namespace {

constexpr int kMostMachines = 100'000;

simulate::JobRate rate_of(const plan::Degrees& d, const cost::Prediction& prediction,
                          int devices_per_machine, int global_batch) {
  simulate::JobRate out;
  const int g = devices_per_machine;
  out.samples_per_s = global_batch / prediction.step;
  out.machines = (d.num_ranks() + g - 1) / g;
  // A copy of the model lies on so many machines, one after the other. Divided state has no copies.
  const int of_a_copy = (d.num_ranks() / d.dp + g - 1) / g;
  out.stages = d.zero == 0 ? std::max(of_a_copy, 1) : out.machines;
  out.state_bytes =
      std::min(d.num_ranks(), g) * (prediction.memory.part(cost::MemoryPart::kWeights) +
                                    prediction.memory.part(cost::MemoryPart::kOptimizer));
  out.plan = fmt::format("tp {} pp {} dp {}, micro-batch {} x {}", d.tp, d.pp, d.dp, d.micro_batch,
                         d.num_micro_batches());
  return out;
}

// The better of what both searches find for one number of machines.
simulate::JobRate best_rate(const Inputs& inputs, const cluster::Cluster& cluster,
                            const search::Choices& choices, bool whole_state) {
  simulate::JobRate best;
  const int devices = cluster.groups.front().node.num_devices;
  const auto take = [&](const plan::Degrees& degrees, const cost::Prediction& prediction) {
    const simulate::JobRate own = rate_of(degrees, prediction, devices, choices.global_batch);
    if (own.samples_per_s > best.samples_per_s) best = own;
  };
  const search::SearchResult regular =
      search::search(inputs.model, {cluster}, inputs.basis, choices, {.top = 1});
  if (!regular.plans.empty()) take(regular.plans.front().degrees, regular.plans.front().prediction);
  // Replicas of unequal share: any number of one-device machines has a plan.
  const bool free = choices.tp.empty() && choices.pp.empty() && choices.micro_batch.empty() &&
                    (choices.zero.empty() || choices.zero == std::vector<int>{0});
  if (devices == 1 && inputs.model.transformer && free) {
    elastic::SpotProblem problem{inputs.model, cluster, inputs.basis, choices.global_batch,
                                 choices.precision};
    problem.played = 1;
    problem.whole_state = whole_state;
    const elastic::SpotResult found = elastic::search(problem);
    if (!found.plans.empty()) take(found.plans.front().degrees, found.plans.front().prediction);
  }
  return best;
}

double cell_number(const spec::Csv& csv, const spec::CsvRow& row, const char* column,
                   double otherwise, double most, ErrorList& errors) {
  const int at = csv.find(column);
  const std::string& text = csv.cell(row, at);
  if (text.empty()) return otherwise;
  const std::optional<double> value = parse_number<double>(text);
  if (!value || !(*value >= 0) || !(*value <= most)) {
    errors.add("job.rates", fmt::format("{} is '{}'", column, text), csv.where(row, at),
               fmt::format("a number from 0 to {:g}", most));
    return otherwise;
  }
  return *value;
}

}  // namespace

PlannedRates plan_rates(const Inputs& inputs, int least, int most, search::Choices choices) {
  const auto begin = std::chrono::steady_clock::now();
  PlannedRates out;
  out.rates.samples_per_step = choices.global_batch;
  out.rates.by_machines.resize(static_cast<std::size_t>(most) + 1);
  const bool free_zero = choices.zero.empty();
  for (int machines = std::max(least, 1); machines <= most; ++machines) {
    cluster::Cluster cluster = inputs.cluster;
    cluster.groups.front().count = machines;
    for (const bool copies : {true, false}) {
      if (copies && free_zero) choices.zero = {0};
      if (!copies) {
        if (!free_zero) break;
        choices.zero.clear();
      }
      const simulate::JobRate found = best_rate(inputs, cluster, choices, copies);
      ++out.plans;
      if (found.samples_per_s <= 0) continue;
      out.rates.by_machines[machines] = found;
      if (out.least == 0) out.least = machines;
      break;
    }
  }
  // Fewer machines may be faster: then their plan is used, and the others are spares.
  for (std::size_t n = 1; n < out.rates.by_machines.size(); ++n)
    if (out.rates.by_machines[n].samples_per_s < out.rates.by_machines[n - 1].samples_per_s)
      out.rates.by_machines[n] = out.rates.by_machines[n - 1];
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

simulate::JobRates read_rates(const std::string& file, double samples_per_step) {
  const spec::Csv csv = spec::read_csv(file);
  csv.require_all({"machines", "samples_per_s"});
  simulate::JobRates out;
  out.samples_per_step = samples_per_step;
  ErrorList errors;
  for (const spec::CsvRow& row : csv.rows) {
    const double machines = cell_number(csv, row, "machines", 0, kMostMachines, errors);
    if (machines < 1 || machines != std::floor(machines)) {
      errors.add("job.rates", fmt::format("{} machines", csv.cell(row, csv.find("machines"))),
                 csv.where(row, csv.find("machines")), "a whole number, at least 1");
      continue;
    }
    const auto n = static_cast<std::size_t>(machines);
    if (out.by_machines.size() <= n) out.by_machines.resize(n + 1);
    simulate::JobRate& own = out.by_machines[n];
    own.samples_per_s = cell_number(csv, row, "samples_per_s", 0, 1e12, errors);
    own.machines = static_cast<int>(cell_number(csv, row, "uses", machines, machines, errors));
    own.stages = static_cast<int>(cell_number(csv, row, "stages", 0, machines, errors));
    own.state_bytes = cell_number(csv, row, "state_bytes", 0, 1e18, errors);
    own.planned = cell_number(csv, row, "planned_samples_per_s", 0, 1e12, errors);
    own.plan = fmt::format("row {} of {}", row.line, file);
  }
  errors.throw_if_any();
  if (out.by_machines.empty())
    throw_input_error("job.rates", "the table has no rows", {file, 0, 0}, "30,125.8");
  for (std::size_t n = 1; n < out.by_machines.size(); ++n)
    if (out.by_machines[n].samples_per_s == 0) out.by_machines[n] = out.by_machines[n - 1];
  return out;
}

}  // namespace nereus::app
