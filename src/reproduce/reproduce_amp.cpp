#include "reproduce/reproduce_amp.hpp"

#include <fmt/format.h>

#include <chrono>

#include "base/error.hpp"
#include "predict/general/general_predictor.hpp"
#include "reproduce/amp_trials.hpp"
#include "reproduce/reproduce_settings.hpp"
#include "reproduce/step_comparison.hpp"
#include "stack/stack_file.hpp"

namespace nereus::app {

namespace {

constexpr ReproduceField kFields[] = {
    {"trial", "", 0, 0, true},  // one alone
    {"stack", "", 0, 0},        // another name or file than data/amp/stack.toml
};

Claim claim_of(const AmpTrial& trial, const ReproduceSettings& settings) {
  const auto begin = std::chrono::steady_clock::now();
  const plan::Plan plan = plan_of(trial);
  const std::string& wanted = settings.text.at("stack");
  cost::Stack stack = wanted.empty() ? amp_stack() : cost::load_stack(wanted);
  stack.options = cost::options_for(stack.options, plan.placement.precision);
  const cost::Prediction predicted =
      cost::predict(plan.placement, plan.model, plan.cluster, cost::Basis(stack));
  Claim claim;
  claim.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  claim.name = fmt::format("trial {}: tp {} x dp {} x pp {}, micro-batch {}", trial.name, trial.tp,
                           trial.dp, trial.pp, trial.micro_batch);
  claim.published = trial.measured;
  claim.ours = predicted.step;
  claim.kind = ClaimKind::kMeasured;
  claim.note = fmt::format("s per step, {:+.0f} %; AMP {:+.0f} %",
                           100 * (predicted.step / *trial.measured - 1),
                           100 * (trial.amp / *trial.measured - 1));
  claim.inputs = "data/amp/mixed_cluster.csv, trial " + trial.name + settings.options;
  claim.command =
      fmt::format("nereus reproduce amp --set all.trial={}{}", trial.name, settings.options);
  return claim;
}

}  // namespace

ReproduceAnswer reproduce_amp(const ReproduceRequest& request) {
  const ReproduceSettings settings = read_settings(kFields, request);
  std::vector<AmpTrial> trials = read_amp_trials();
  std::erase_if(trials, [](const AmpTrial& trial) { return !trial.measured; });
  std::vector<std::string> names;
  for (const AmpTrial& trial : trials) names.push_back(trial.name);
  ErrorList errors;
  settings.require_one_of("trial", names, errors);
  errors.throw_if_any();
  ReproduceAnswer out;
  out.system = "amp";
  StepComparison ours, amp;
  for (const AmpTrial& trial : trials) {
    if (!settings.wants("trial", trial.name)) continue;
    if (request.stop && request.stop()) {
      out.complete = false;
      break;
    }
    out.claims.push_back(claim_of(trial, settings));
    ours.add(*trial.measured, *out.claims.back().ours);
    amp.add(*trial.measured, trial.amp);
  }
  add_summary({"V100 and T4", "data/amp/mixed_cluster.csv" + settings.options,
               "nereus reproduce amp" + settings.options},
              ours, &amp, out);
  out.notes = {
      "published: seconds per step of GPT-2 355M as measured by AMP's authors, and the error of "
      "their own predictions; ours: predicted from data sheets, with no parameter fitted to these "
      "trials",
      "docs/mixed.md explains the large errors"};
  return out;
}

}  // namespace nereus::app
