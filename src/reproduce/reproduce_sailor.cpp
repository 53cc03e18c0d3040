#include "reproduce/reproduce_sailor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "app/exchange/write_folder.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "plan/plan_json.hpp"
#include "predict/general/general_predictor.hpp"
#include "reproduce/reproduce_settings.hpp"
#include "reproduce/sailor_runs.hpp"
#include "reproduce/step_comparison.hpp"
#include "stack/stack_file.hpp"

namespace nereus::app {

namespace {

constexpr ReproduceField kSailorFields[] = {
    {"run", "", 0, 0, true},         // one run alone
    {"machines", "", 0, 0, true},    // turing, ampere or alps alone
    {"plans", "", 0, 0, true},       // a folder that gets every run as a plan file
    {"profiles", "measured", 0, 0},  // none: the kernel model
    {"stack", "", 0, 0},             // another name or file than data/sailor/stack.toml
};

cost::Basis basis_of(const ReproduceSettings& settings, const plan::Plan& plan) {
  const std::string& wanted = settings.text.at("stack");
  cost::Basis basis(wanted.empty() ? sailor_stack() : cost::load_stack(wanted));
  if (settings.text.at("profiles") == "measured") basis.layers = sailor_layers(plan);
  return basis.in_precision(plan.placement.precision);
}

Claim claim_of(const SailorRun& run, const ReproduceSettings& settings) {
  const auto begin = std::chrono::steady_clock::now();
  const plan::Plan plan = plan_of(run);
  const cost::Prediction predicted =
      cost::predict(plan.placement, plan.model, plan.cluster, basis_of(settings, plan));
  Claim claim;
  claim.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  claim.name = fmt::format("{}: {}, tp {}", run.name, run.teams_text, run.tp);
  claim.published = run.measured;
  claim.ours = predicted.step;
  claim.kind = ClaimKind::kMeasured;
  claim.note = fmt::format("s per step, {:+.1f} %", 100 * (predicted.step / run.measured - 1));
  if (run.measured_memory)
    claim.note += fmt::format("; memory {:.1f} GiB, measured {:.1f}", predicted.memory.total / kGiB,
                              *run.measured_memory / kGiB);
  if (!run.suspect.empty()) claim.note += "; not counted: " + run.suspect;
  claim.inputs =
      fmt::format("data/sailor/runs.csv, {} ({}){}", run.name, run.source, settings.options);
  claim.command =
      fmt::format("nereus reproduce sailor --set all.run={}{}", run.name, settings.options);
  return claim;
}

SummaryPlace place_of(const std::string& what, const ReproduceSettings& settings) {
  const std::string& machines = settings.text.at("machines");
  const std::string chosen = machines.empty() ? "" : " --set all.machines=" + machines;
  return {what, "data/sailor/runs.csv" + settings.options,
          "nereus reproduce sailor" + chosen + settings.options};
}

std::vector<SailorRun> chosen_runs(const ReproduceSettings& settings) {
  std::vector<SailorRun> runs = read_sailor_runs();
  std::vector<std::string> names, machines;
  for (const SailorRun& run : runs) {
    names.push_back(run.name);
    if (std::find(machines.begin(), machines.end(), run.machines) == machines.end())
      machines.push_back(run.machines);
  }
  ErrorList errors;
  settings.require_one_of("run", names, errors);
  settings.require_one_of("machines", machines, errors);
  settings.require_one_of("profiles", {"measured", "none"}, errors);
  errors.throw_if_any();
  std::erase_if(runs, [&](const SailorRun& run) {
    return !settings.wants("run", run.name) || !settings.wants("machines", run.machines);
  });
  if (runs.empty())
    throw_input_error("reproduce.value",
                      fmt::format("run '{}' is not of machines '{}'", settings.text.at("run"),
                                  settings.text.at("machines")),
                      {}, "remove one of the two");
  return runs;
}

void write_plans(const std::vector<SailorRun>& runs, const std::string& folder) {
  write_folder(folder, [&](const std::filesystem::path& into) {
    for (const SailorRun& run : runs)
      plan::save_plan((into / (run.name + ".plan")).string(), plan_of(run));
  });
}

}  // namespace

ReproduceAnswer reproduce_sailor(const ReproduceRequest& request) {
  const ReproduceSettings settings = read_settings(kSailorFields, request);
  const std::vector<SailorRun> runs = chosen_runs(settings);
  if (const std::string& folder = settings.text.at("plans"); !folder.empty())
    write_plans(runs, folder);
  ReproduceAnswer out;
  out.system = "sailor";
  StepComparison mixed, equal;
  for (const SailorRun& run : runs) {
    if (request.stop && request.stop()) {
      out.complete = false;
      break;
    }
    out.claims.push_back(claim_of(run, settings));
    if (run.suspect.empty())
      (run.is_mixed() ? mixed : equal).add(run.measured, *out.claims.back().ours);
  }
  add_summary(place_of("mixed machines", settings), mixed, nullptr, out);
  add_summary(place_of("equal machines", settings), equal, nullptr, out);
  out.notes = {
      "published: seconds per step of OPT-350M in fp32 as measured by Sailor's authors; ours: "
      "predicted from the layer times and networks they measured, with no parameter fitted to "
      "these runs",
      "docs/mixed.md gives the sources of the networks and explains the large errors"};
  return out;
}

}  // namespace nereus::app
