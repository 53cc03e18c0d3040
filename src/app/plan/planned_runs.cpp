#include "app/plan/planned_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calibrate/evaluate_runs.hpp"
#include "plan/rules.hpp"
#include "search/regular/regular_search.hpp"

namespace nereus::app {

namespace {

using calibrate::Run;

struct Group {
  const Run* first = nullptr;
  std::vector<std::pair<const Run*, cost::Prediction>> runs;
};

std::string key_of(const Run& run) {
  const cluster::Node& node = run.cluster.groups.front().node;
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", run.set, run.model_name,
                     static_cast<const void*>(run.model.get()), node.name, node.device.short_name,
                     run.cluster.num_devices(), run.degrees.global_batch,
                     static_cast<int>(run.degrees.precision), run.stack, run.site,
                     static_cast<int>(run.attention));
}

search::Choices space_of(const Group& group) {
  search::Choices choices;
  choices.global_batch = group.first->degrees.global_batch;
  choices.precision = group.first->degrees.precision;
  choices.schedules = {plan::Schedule::k1f1b, plan::Schedule::kInterleaved};
  for (const auto& [run, prediction] : group.runs)
    if (std::find(choices.schedules.begin(), choices.schedules.end(), run->degrees.schedule) ==
        choices.schedules.end())
      choices.schedules.push_back(run->degrees.schedule);
  return choices;
}

PlannedGroup judge(const Group& group, const cost::StackLibrary& library) {
  const Run& first = *group.first;
  PlannedGroup out;
  out.set = first.set;
  out.model = first.model_name;
  out.device = first.cluster.groups.front().node.device.short_name;
  out.gpus = first.cluster.num_devices();
  out.global_batch = first.degrees.global_batch;
  out.precision = cluster::to_string(first.degrees.precision);
  out.stack = first.stack;
  out.runs = static_cast<int>(group.runs.size());
  const auto fastest =
      std::min_element(group.runs.begin(), group.runs.end(),
                       [](const auto& a, const auto& b) { return a.first->step < b.first->step; });
  out.fastest = fastest->first->degrees;
  out.fastest_measured = fastest->first->step;
  out.fastest_predicted = fastest->second.step;
  out.least_predicted = fastest->second.step;
  for (const auto& [run, prediction] : group.runs)
    out.least_predicted = std::min(out.least_predicted, prediction.step);

  cost::Stack stack = library.resolve(first.stack, first.site);
  stack.options =
      cost::options_for(stack.options, first.degrees.precision, first.degrees.state_types);
  stack.options.attention = first.attention;
  const search::SearchResult found = search::search(
      *first.model, {first.cluster}, cost::Basis(stack), space_of(group), {.top = 1});
  if (!found.plans.empty()) {
    out.planned = found.plans.front().degrees;
    out.planned_step = found.plans.front().prediction.step;
    out.gain = out.fastest_predicted / out.planned_step - 1;
  }
  return out;
}

}  // namespace

std::vector<PlannedGroup> plan_groups(const calibrate::RunTable& table,
                                      const cost::StackLibrary& library, const ProgressSink& sink) {
  std::vector<Group> groups;
  std::map<std::string, std::size_t> index;
  for (const Run& run : table.runs) {
    if (run.failed || !run.suspect.empty() || !run.cluster.uniform()) continue;
    if (plan::violated_rules(run.degrees, plan::degree_limits(*run.model, run.cluster)) != 0)
      continue;
    const cost::Prediction prediction = calibrate::predict(run, library);
    if (!prediction.fits) continue;
    const auto [at, added] = index.try_emplace(key_of(run), groups.size());
    if (added) groups.push_back({&run, {}});
    groups[at->second].runs.emplace_back(&run, prediction);
  }
  std::vector<PlannedGroup> planned;
  for (const Group& group : groups) {
    planned.push_back(judge(group, library));
    if (sink)
      sink({.what = "groups",
            .done = static_cast<double>(planned.size()),
            .total = static_cast<double>(groups.size()),
            .best = {}});
  }
  return planned;
}

}  // namespace nereus::app
