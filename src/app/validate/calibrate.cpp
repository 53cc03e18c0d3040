#include "app/validate/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.hpp"
#include "base/median.hpp"
#include "calibrate/evaluate_runs.hpp"
#include "calibrate/fit_errors.hpp"
#include "cluster/this_machine.hpp"
#include "spec/csv.hpp"
#include "stack/stack_file.hpp"

namespace nereus::app {

namespace {

using calibrate::Run;
using calibrate::RunTable;
using cost::Scope;
using cost::StackLibrary;

// Numbers of a stack that was never seen, the most telling first.
constexpr std::pair<const char*, double> kOwnNumbers[] = {
    {"gemm_efficiency", 0.15},   {"host_layer", 0.5},           {"elementwise_passes", 0.3},
    {"network_efficiency", 0.3}, {"attention_efficiency", 0.3}, {"activation_copies", 0.5},
    {"memory_fixed", 0.5}};
// For one on CPUs, for which only nominal rates are known.
constexpr std::pair<const char*, double> kOwnNumbersOfCpus[] = {{"gemm_efficiency_32bit", 0.5},
                                                                {"elementwise_passes", 0.5},
                                                                {"score_passes", 0.5},
                                                                {"loss_passes", 0.5},
                                                                {"kernel_gap", 1.0},
                                                                {"gemm_depth", 1.0},
                                                                {"link_efficiency", 0.7},
                                                                {"link_latency", 1.0},
                                                                {"optimizer_passes", 0.5},
                                                                {"host_step", 1.0}};

std::set<std::string> unknown_stacks(const std::vector<spec::Csv>& tables,
                                     const StackLibrary& library) {
  std::set<std::string> names;
  for (const spec::Csv& csv : tables) {
    const int column = csv.find("stack");
    for (const spec::CsvRow& row : csv.rows)
      if (const std::string& name = csv.cell(row, column); !name.empty() && !library.has(name))
        names.insert(name);
  }
  return names;
}

// The known stack with the least median error on these rows.
std::string best_parent(const std::vector<const Run*>& runs, const StackLibrary& library) {
  std::string best = "generic";
  double least = 1e300;
  for (const std::string& name : library.stack_names()) {
    std::vector<double> errors;
    for (const Run* run : runs) {
      if (run->failed) continue;
      Run as = *run;
      as.stack = name;
      errors.push_back(std::abs(std::log(calibrate::predict(as, library).step / run->step)));
    }
    const double error = median(errors);
    if (!errors.empty() && error < least) {
      least = error;
      best = name;
    }
  }
  return best;
}

void add_stack(StackLibrary& library, const std::string& name, const std::string& parent,
               const cluster::Device& device) {
  cost::StackEntry entry = library.stacks.find(parent)->second;
  entry.inherits = parent;
  entry.description = fmt::format("calibrated from your runs, based on {}", parent);
  entry.settings.clear();
  entry.variants.clear();
  entry.releases.clear();
  library.stacks[name] = entry;
  const cost::Parameters inherited = library.resolve(name).parameters_for(device);
  const std::span<const std::pair<const char*, double>> own =
      cluster::own_device_kind(device.name) == "cpu"
          ? std::span<const std::pair<const char*, double>>(kOwnNumbersOfCpus)
          : kOwnNumbers;
  for (const auto& [parameter, spread] : own) {
    const cost::ParameterInfo* info = cost::find_parameter(parameter);
    const double prior = std::clamp(inherited.*info->member, std::max(info->low, 1e-9), info->high);
    library.free.push_back({{Scope::Kind::kStack, name}, parameter, prior, spread});
  }
}

std::vector<const Run*> pointers(const RunTable& table) {
  std::vector<const Run*> runs;
  for (const Run& run : table.runs) runs.push_back(&run);
  return runs;
}

std::map<std::string, calibrate::ErrorSummary> errors_by_set(
    const calibrate::Validation& validation) {
  std::map<std::string, calibrate::ErrorSummary> errors;
  for (const auto& [set, summary] : validation.sets) errors[set] = summary.errors;
  return errors;
}

// The errors of a new stack on models that its fit had not seen, as text of a stack file.
std::string errors_text(const calibrate::CrossValidation& held_out, const std::string& stack,
                        const StackLibrary& library) {
  std::vector<calibrate::LeftOutRow> rows;
  for (const calibrate::RowResult& row : held_out.held_out)
    if (row.run->stack == stack)
      rows.push_back(calibrate::left_out_row(row, row.run->suite, library));
  if (rows.empty()) return {};
  std::vector<const calibrate::LeftOutRow*> all;
  for (const calibrate::LeftOutRow& row : rows) all.push_back(&row);
  const cost::ErrorTable known = library.errors ? *library.errors : cost::ErrorTable{};
  return fmt::format("left_out = '''\n{}'''\n",
                     cost::write_error_table(calibrate::errors_of_stack(all, known)));
}

}  // namespace

CalibrateAnswer calibrate(const CalibrateRequest& request, const ProgressSink& progress) {
  StackLibrary library = cost::builtin_stacks();
  std::vector<spec::Csv> tables;
  for (const std::string& file : request.files) tables.push_back(spec::read_csv(file));

  CalibrateAnswer answer;
  const auto read = [&](const std::string& fallback) {
    RunTable all;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      const std::string& path = request.files[i];
      const std::size_t slash = path.rfind('/') + 1;
      calibrate::append(
          all, calibrate::parse_runs(tables[i], path.substr(slash, path.rfind('.') - slash),
                                     library, fallback));
    }
    if (!request.as.empty() && library.has(request.as))
      for (Run& run : all.runs) run.stack = request.as;
    return all;
  };
  RunTable table = read("generic");
  std::set<std::string> fresh = unknown_stacks(tables, library);
  if (!request.as.empty()) {
    if (library.has(request.as))
      throw_input_error("calibrate.known-stack",
                        fmt::format("there is already a stack \"{}\"", request.as), {},
                        "use another name for --as");
    fresh = {request.as};
  }
  std::vector<const Run*> usable = pointers(table);
  if (usable.empty())
    throw_input_error("runs.none-usable", "no row of these files can be predicted",
                      {request.files.front()},
                      "rows need layers, hidden, heads, seq, gpu, gpus, tp, pp, dp, micro_batch, "
                      "global_batch and precision");
  for (const std::string& name : fresh) {
    // Rows of an unknown stack were read as generic ones.
    std::vector<const Run*> own;
    for (const Run* run : usable)
      if (!request.as.empty() || run->stack == "generic") own.push_back(run);
    if (own.empty()) continue;
    const std::string parent = best_parent(own, library);
    add_stack(library, name, parent, own.front()->cluster.groups.front().node.device);
    answer.new_stacks[name] = parent;
  }
  if (!answer.new_stacks.empty()) {
    // Only the new stack is fitted: a few rows must not change what thousands have determined.
    std::erase_if(library.free, [&](const cost::FreeNumber& number) {
      return number.scope.kind != Scope::Kind::kStack ||
             !answer.new_stacks.contains(number.scope.name);
    });
    table = read("generic");
    usable = pointers(table);
  }

  std::set<std::string> suites;
  int measured = 0;
  for (const Run* run : usable) {
    if (run->failed || !run->suspect.empty()) continue;
    suites.insert(run->suite);
    ++measured;
  }
  if (measured == 0)
    throw_input_error("calibrate.nothing-measured",
                      "no row of these files has a step time to fit to", {request.files.front()},
                      "failed and suspect rows have no usable step time");
  // A model is held out whole, so there are no more folds than models, and none with one model.
  const int folds =
      suites.size() < 2 ? 0 : std::min(request.folds, static_cast<int>(suites.size()));

  calibrate::FitOptions options;
  options.start_at_priors = request.from_priors;
  options.keep_uninformed = !request.from_priors;
  if (!request.from_priors && answer.new_stacks.empty())
    // Own runs move what others settled, not the data sheets.
    for (cost::FreeNumber& number : library.free)
      if (const double* value = library.find(number.scope, number.parameter)) number.prior = *value;
  if (!answer.new_stacks.empty()) {
    options.min_rows = 1;
    options.start_at_priors = true;
    options.keep_uninformed = false;
  }
  const int passes = 1 + folds;
  progress({"fits", 0, static_cast<double>(passes), ""});
  const calibrate::FitResult fitted = calibrate::fit_all(library, usable, options);
  progress({"fits", 1, static_cast<double>(passes), ""});
  answer.parameters = fitted.numbers;
  answer.rows = table.rows;
  RunTable kept;
  kept.rows = table.rows;
  for (const Run* run : usable) kept.runs.push_back(*run);
  const calibrate::Validation validation = calibrate::validate(kept, fitted.library);
  answer.used = validation.used;
  answer.fit_error = errors_by_set(validation);
  const StackLibrary& result = fitted.library;
  std::string left_out;
  if (folds > 1) {
    const calibrate::CrossValidation held_out =
        calibrate::cross_validate(library, usable, folds, options, [&](int done) {
          progress({"fits", 1.0 + done, static_cast<double>(passes), ""});
        });
    answer.cross_validated_error = held_out.sets;
    for (const auto& [name, parent] : answer.new_stacks)
      left_out += errors_text(held_out, name, result);
  }

  std::vector<Scope> scopes;
  std::set<std::string> seen;
  for (const Run* run : usable) seen.insert(run->stack);
  for (const std::string& name : seen) scopes.push_back({Scope::Kind::kStack, name});
  for (const calibrate::FittedNumber& number : fitted.numbers)
    if (number.fitted &&
        std::find(scopes.begin(), scopes.end(), number.number.scope) == scopes.end())
      scopes.push_back(number.number.scope);
  answer.file_text = cost::write_stacks(
      result, scopes,
      fmt::format(
          "# Written by nereus calibrate from {} rows of {}. Numbers of src/stack/parameters.hpp; "
          "low and high are\n"
          "# two standard deviations, rows how many runs tell something about the number.\n",
          answer.used, fmt::join(request.files, ", ")) +
          left_out);
  return answer;
}

}  // namespace nereus::app
