#include "calibrate/new_stack.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "calibrate/evaluate_runs.hpp"
#include "cluster/this_machine.hpp"

namespace nereus::calibrate {

namespace {

using cost::FreeNumber;
using cost::Scope;
using cost::StackLibrary;

// A parent with this mean error or less is as good as measurements are.
constexpr double kNothingToGain = 0.005;

// Weights of the priors, in units of the loss: the first trusts the rows most.
constexpr double kPriorWeights[] = {0.0025, 0.01, 0.04, 0.16, 0.64};

const cluster::Device& device_of(const Run& run) { return run.cluster.groups.front().node.device; }

// What may differ between software. Penalties that parents do not hand down are here where a few
// rows can show them: they start at zero.
constexpr std::string_view kNumbers[] = {
    "gemm_efficiency",       "gemm_efficiency_8bit", "gemm_efficiency_4bit",
    "gemm_efficiency_32bit", "attention_efficiency", "memory_efficiency",
    "elementwise_passes",    "score_passes",         "loss_passes",
    "expert_passes",         "grouped_gemm",         "expert_overlap",
    "dispatch_once",         "host_layer",           "host_expert",
    "host_collective",       "host_transfer",        "host_step",
    "link_efficiency",       "link_latency",         "network_efficiency",
    "network_latency",       "network_jitter",       "pipelined_latency",
    "tensor_overlap",        "data_overlap",         "zero_overlap",
    "shard_overlap",         "pipeline_overlap",     "accumulate_bytes",
    "optimizer_passes",      "memory_fixed",         "activation_copies",
    "logits_copies",         "gathered_inputs",      "pipeline_layers",
    "buffer_bytes",          "memory_slack"};

// CPUs have only nominal rates, and no second software to compare with.
struct CpuNumber {
  std::string_view name;
  double spread;
};
constexpr CpuNumber kNumbersOfCpus[] = {{"gemm_efficiency_32bit", 0.5},
                                        {"elementwise_passes", 0.5},
                                        {"score_passes", 0.5},
                                        {"loss_passes", 0.5},
                                        {"kernel_gap", 1.0},
                                        {"gemm_depth", 1.0},
                                        {"link_efficiency", 0.7},
                                        {"link_latency", 1.0},
                                        {"optimizer_passes", 0.5},
                                        {"host_step", 1.0},
                                        {"activation_copies", 0.5},
                                        {"memory_fixed", 0.5}};

bool is_share(const cost::ParameterInfo& info) {
  return info.unit.empty() && info.low == 0 && info.high <= 1;
}

// Root mean square of how far known stacks are from the parent.
double spread_of(const StackLibrary& library, const std::string& name, const std::string& parent,
                 const cost::ParameterInfo& info, const Run& example, double least_spread) {
  const cluster::Device& device = device_of(example);
  const double own = library.resolve(parent).parameters_for(device).*info.member;
  const bool logarithmic = own > 0 && !is_share(info);
  double sum = 0;
  int count = 0;
  for (const std::string& stack : library.stack_names()) {
    if (stack == name || stack == parent || stack == "other") continue;
    if (!suits(library, stack, *example.model, device)) continue;
    const double value = library.resolve(stack).parameters_for(device).*info.member;
    if (logarithmic && value <= 0) continue;
    const double x = logarithmic ? std::log(value / own) : value - own;
    sum += x * x;
    ++count;
  }
  const double least = least_spread * (logarithmic ? 1 : info.high - info.low);
  return std::max(least, count > 0 ? std::sqrt(sum / count) : 0.0);
}

// The scope from which predictions for a device take a number that no stack sets: its most specific
// name that sets it, or the family.
Scope device_scope(const StackLibrary& library, const cluster::Device& device,
                   std::string_view parameter) {
  const std::string_view family = cost::family_of(device.short_name);
  if (const auto at = library.devices.find(device.short_name);
      at != library.devices.end() && at->second.find(parameter) != at->second.end())
    return {Scope::Kind::kDevice, device.short_name};
  return {Scope::Kind::kDevice, std::string(family)};
}

// Whether any device of the library has a value of its own, and no stack on the way to the root.
bool is_of_devices(const StackLibrary& library, const std::string& name,
                   std::string_view parameter) {
  for (auto at = library.stacks.find(name); at != library.stacks.end();
       at = library.stacks.find(at->second.inherits))
    if (at->second.settings.find(parameter) != at->second.settings.end()) return false;
  return std::any_of(library.devices.begin(), library.devices.end(), [&](const auto& device) {
    return device.second.find(parameter) != device.second.end();
  });
}

// What is fitted, and which numbers move together.
void free_numbers(StackLibrary& library, const std::string& name, const std::string& parent,
                  const std::vector<const Run*>& runs, double least_spread, FitOptions& options) {
  library.free.clear();
  const Run& first = *runs.front();
  const bool on_cpu = cluster::own_device_kind(device_of(first).name) == "cpu";
  std::vector<CpuNumber> numbers;
  if (on_cpu)
    numbers.assign(std::begin(kNumbersOfCpus), std::end(kNumbersOfCpus));
  else
    for (std::string_view number : kNumbers)
      numbers.push_back({number, spread_of(library, name, parent, *cost::find_parameter(number),
                                           first, least_spread)});
  for (const auto& [parameter, spread] : numbers) {
    const std::string label(parameter);
    const cost::ParameterInfo* info = cost::find_parameter(parameter);
    const auto prior_on = [&](const Run& run) {
      return library.resolve(name).parameters_for(device_of(run)).*info->member;
    };
    std::vector<FreeNumber> scopes;
    if (is_of_devices(library, name, label)) {
      for (const Run* run : runs) {
        FreeNumber number{device_scope(library, device_of(*run), label), label, prior_on(*run),
                          spread};
        if (std::find(scopes.begin(), scopes.end(), number) == scopes.end())
          scopes.push_back(number);
      }
    } else {
      scopes.push_back({{Scope::Kind::kStack, name}, label, prior_on(first), spread});
    }
    library.free.push_back(scopes.front());
    for (std::size_t i = 1; i < scopes.size(); ++i)
      options.links.push_back({scopes.front(), scopes[i]});
  }
}

std::vector<const Run*> usable(const std::vector<Run>& runs, Target target) {
  std::vector<const Run*> out;
  for (const Run& run : runs)
    if (!run.failed && run.suspect.empty() &&
        (target == Target::kMemory ? run.memory : run.step) > 0)
      out.push_back(&run);
  return out;
}

double error_of(const Run& run, const StackLibrary& library, Target target) {
  const cost::Prediction p = predict(run, library);
  return target == Target::kMemory ? std::abs(memory_error(run, p, library))
                                   : std::abs(p.step / run.step - 1);
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

struct Gain {
  double mean = 0;
  double deviation = 0;  // standard error of the mean
};
Gain gain_of(const std::vector<double>& before, const std::vector<double>& after) {
  const double n = static_cast<double>(before.size());
  Gain gain;
  double squares = 0;
  for (std::size_t i = 0; i < before.size(); ++i) gain.mean += (before[i] - after[i]) / n;
  for (std::size_t i = 0; i < before.size(); ++i)
    squares += std::pow(before[i] - after[i] - gain.mean, 2);
  gain.deviation = n > 1 ? std::sqrt(squares / (n - 1) / n) : 0;
  return gain;
}

// Deals rows to folds in an order that does not follow the table's, whose neighbours are alike.
std::vector<std::vector<const Run*>> folds_of(const std::vector<const Run*>& runs, int most) {
  const std::size_t folds = std::min<std::size_t>(static_cast<std::size_t>(most), runs.size());
  std::vector<std::vector<const Run*>> out(folds);
  for (std::size_t i = 0; i < runs.size(); ++i)
    out[i * 7919 % runs.size() % folds].push_back(runs[i]);
  std::erase_if(out, [](const auto& fold) { return fold.empty(); });
  return out;
}

TrialRow trial_row(const Run& run, double error, const StackLibrary& library) {
  TrialRow row{run.set, error, {}};
  RowResult result;
  result.run = &run;
  result.prediction = predict(run, library);
  row.left_out = left_out_row(result, run.suite, library);
  row.left_out.step = std::log1p(error);
  return row;
}

class Judge {
 public:
  Judge(FitOptions options, const NewStackOptions& rules, const std::function<void(int, int)>& tell)
      : options_(std::move(options)), rules_(rules), tell_(tell) {}

  // Chooses among libraries and weights of the priors by rows left out. The first library is the
  // parent's. Returns the fit to all rows, or nothing where the parent is better.
  std::optional<FitResult> judge(const std::vector<StackLibrary>& libraries,
                                 const std::vector<const Run*>& runs, Target target,
                                 StackTrial& result) {
    if (runs.size() < 2) return std::nullopt;
    const std::vector<std::vector<const Run*>> folds = folds_of(runs, rules_.folds);
    result.rows = static_cast<int>(runs.size());
    result.folds = static_cast<int>(folds.size());
    const std::vector<double> before = left_out(libraries.front(), folds, target, 0);
    result.parent = result.calibrated = mean_of(before);
    std::vector<Candidate> candidates;
    if (result.parent < kNothingToGain) return std::nullopt;
    for (const StackLibrary& library : libraries) {
      for (const double weight : kPriorWeights) {
        if (rules_.stop && rules_.stop()) return std::nullopt;
        std::vector<double> errors = left_out(library, folds, target, weight);
        const Gain gain = gain_of(before, errors);
        if (gain.mean > gain.deviation * rules_.standard_errors)
          candidates.push_back({&library, weight, gain, std::move(errors)});
      }
    }
    const Candidate* chosen = choose(candidates);
    if (chosen != nullptr) {
      result.kept = true;
      result.calibrated = result.parent - chosen->gain.mean;
      result.prior_weight = chosen->weight;
    }
    std::size_t at = 0;
    for (const std::vector<const Run*>& fold : folds)
      for (const Run* run : fold)
        result.errors.push_back(trial_row(*run, (chosen != nullptr ? chosen->errors : before)[at++],
                                          libraries.front()));
    if (chosen == nullptr) return std::nullopt;
    options_.prior_weight = chosen->weight;
    return fit(*chosen->library, runs, target, options_);
  }

 private:
  struct Candidate {
    const StackLibrary* library = nullptr;
    double weight = 0;
    Gain gain;
    std::vector<double> errors;
  };

  // The strongest prior that is not clearly worse than the best; nullptr if there is none.
  const Candidate* choose(const std::vector<Candidate>& candidates) const {
    const auto best = std::max_element(
        candidates.begin(), candidates.end(),
        [](const Candidate& a, const Candidate& b) { return a.gain.mean < b.gain.mean; });
    const Candidate* chosen = nullptr;
    for (const Candidate& candidate : candidates) {
      if (candidate.gain.mean < best->gain.mean - rules_.slack * best->gain.deviation) continue;
      if (chosen == nullptr || candidate.weight > chosen->weight) chosen = &candidate;
    }
    return chosen;
  }

  // The error of each row, by fits to the other folds; without a fit if the weight is 0.
  std::vector<double> left_out(const StackLibrary& library,
                               const std::vector<std::vector<const Run*>>& folds, Target target,
                               double weight) {
    std::vector<double> errors;
    for (const std::vector<const Run*>& fold : folds) {
      if (weight == 0) {
        for (const Run* run : fold) errors.push_back(error_of(*run, library, target));
        continue;
      }
      std::vector<const Run*> seen;
      for (const std::vector<const Run*>& other : folds)
        if (&other != &fold) seen.insert(seen.end(), other.begin(), other.end());
      options_.prior_weight = weight;
      const StackLibrary fitted = fit(library, seen, target, options_).library;
      for (const Run* run : fold) errors.push_back(error_of(*run, fitted, target));
      // Memory, with two meanings, and time.
      if (tell_) tell_(++done_, 3 * rules_.folds * static_cast<int>(std::size(kPriorWeights)));
    }
    return errors;
  }

  FitOptions options_;
  const NewStackOptions& rules_;
  const std::function<void(int, int)>& tell_;
  int done_ = 0;
};

}  // namespace

NewStack calibrate_new_stack(const StackLibrary& known, const std::string& name,
                             const ReadRuns& read, const NewStackOptions& rules,
                             const std::function<void(int, int)>& on_fit) {
  NewStack out;
  const ParentChoice choice = choose_parent(known, name, read);
  out.parent = choice.parent;
  out.by_name = choice.by_name;
  out.library = known;
  add_stack(out.library, name, out.parent);
  const std::vector<Run> runs = read(out.library, name);
  const std::vector<const Run*> timed = usable(runs, Target::kStepTime);
  if (timed.empty()) return out;
  FitOptions options;
  options.min_rows = 1;
  options.keep_uninformed = true;  // a device's number is not the software's to forget
  options.least_gain = 1e-4;
  options.max_iterations = 40;
  options.stop = rules.stop;
  StackLibrary free = out.library;
  free_numbers(free, name, out.parent, timed, rules.least_spread, options);
  Judge judge(options, rules, on_fit);
  // What a number for memory means is not known either: the fullest rank's or the first rank's.
  StackLibrary other = free;
  cost::MemoryReport& report = other.stacks.find(name)->second.options.memory_report;
  report = report == cost::MemoryReport::kWorstRankReserved
               ? cost::MemoryReport::kFirstRankAllocated
               : cost::MemoryReport::kWorstRankReserved;
  const std::optional<FitResult> memory =
      judge.judge({free, other}, usable(runs, Target::kMemory), Target::kMemory, out.memory);
  if (memory)
    out.library.stacks.find(name)->second.options =
        memory->library.stacks.find(name)->second.options;
  const std::optional<FitResult> time = judge.judge({free}, timed, Target::kStepTime, out.time);
  for (const std::optional<FitResult>* fitted : {&memory, &time}) {
    if (!*fitted) continue;
    for (const FittedNumber& number : (*fitted)->numbers) {
      if (!number.fitted) continue;
      out.numbers.push_back(number);
      out.library.set(number.number.scope, number.number.parameter, number.value);
      out.library.ranges[to_string(number.number.scope) + "." + number.number.parameter] = {
          number.low, number.high, number.rows};
    }
  }
  return out;
}

}  // namespace nereus::calibrate
