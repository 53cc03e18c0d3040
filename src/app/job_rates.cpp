#include "app/job_rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>

#include "base/error.hpp"
#include "spec/csv.hpp"

namespace nereus::app {

namespace {

constexpr int kMostMachines = 100'000;

simulate::JobRate rate_of(const search::Candidate& found, int machines, int devices_per_machine,
                          int global_batch, bool has_copies) {
  const plan::Degrees& d = found.degrees;
  simulate::JobRate out;
  out.samples_per_s = global_batch / found.prediction.step;
  out.machines = machines;
  // A copy of the model lies on so many machines, one after the other.
  const int of_a_copy =
      (machines * devices_per_machine / d.dp + devices_per_machine - 1) / devices_per_machine;
  out.stages = has_copies ? std::max(of_a_copy, 1) : machines;
  out.state_bytes =
      devices_per_machine * (found.prediction.memory.part(cost::MemoryPart::kWeights) +
                             found.prediction.memory.part(cost::MemoryPart::kOptimizer));
  out.plan = fmt::format("tp {} pp {} dp {}, micro-batch {}", d.tp, d.pp, d.dp, d.micro_batch);
  return out;
}

double cell_number(const spec::Csv& csv, const spec::CsvRow& row, const char* column,
                   double otherwise, double most, ErrorList& errors) {
  const int at = csv.find(column);
  const std::string& text = csv.cell(row, at);
  if (text.empty()) return otherwise;
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || !(value >= 0) ||
      !(value <= most)) {
    errors.add("job.rates", fmt::format("{} is '{}'", column, text), csv.where(row, at),
               fmt::format("a number from 0 to {:g}", most));
    return otherwise;
  }
  return value;
}

}  // namespace

PlannedRates plan_rates(const Inputs& inputs, int least, int most, search::Choices choices) {
  const auto begin = std::chrono::steady_clock::now();
  PlannedRates out;
  out.rates.samples_per_step = choices.global_batch;
  out.rates.by_machines.resize(static_cast<std::size_t>(most) + 1);
  const bool free_zero = choices.zero.empty();
  const int devices = inputs.cluster.groups.front().node.num_devices;
  for (int machines = std::max(least, 1); machines <= most; ++machines) {
    cluster::Cluster cluster = inputs.cluster;
    cluster.groups.front().count = machines;
    for (const bool copies : {true, false}) {
      if (copies && free_zero) choices.zero = {0};
      if (!copies) {
        if (!free_zero) break;
        choices.zero.clear();
      }
      const search::SearchResult found =
          search::search(inputs.model, {cluster}, inputs.stack, choices, {.top = 1});
      ++out.plans;
      if (found.plans.empty()) continue;
      const bool whole = found.plans.front().degrees.zero == 0;
      out.rates.by_machines[static_cast<std::size_t>(machines)] =
          rate_of(found.plans.front(), machines, devices, choices.global_batch, whole);
      if (out.least == 0) out.least = machines;
      break;
    }
  }
  // Fewer machines may be faster: their plan stands, the others are spare.
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
