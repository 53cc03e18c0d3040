#include "reproduce/contest.hpp"

#include <functional>

#include "app/predict/headroom.hpp"
#include "plan/expand.hpp"
#include "plan/rules.hpp"
#include "search/regular/keep.hpp"

namespace nereus::app {

namespace {

using plan::Degrees;

search::Choices space_of(const Degrees& d) {
  search::Choices choices;
  choices.global_batch = d.global_batch;
  choices.precision = d.precision;
  // Options that the derived space leaves out are added if the plan uses them.
  if (!d.offload.none()) choices.offloads = {{}, d.offload};
  if (d.schedule != plan::Schedule::k1f1b && d.schedule != plan::Schedule::kInterleaved && d.pp > 1)
    choices.schedules = {plan::Schedule::k1f1b, plan::Schedule::kInterleaved, d.schedule};
  return choices;
}

struct Change {
  const char* what;
  std::function<void(cluster::Cluster&)> apply;
};

std::vector<Change> hardware_changes(const cluster::Cluster& cluster) {
  const auto node = [](cluster::Cluster& c) -> cluster::Node& { return c.groups.front().node; };
  std::vector<Change> changes = {
      {"1 GiB more memory on each device",
       [=](cluster::Cluster& c) { node(c).device.memory.value += 1024.0 * 1024 * 1024; }},
      {"10 % more memory on each device",
       [=](cluster::Cluster& c) { node(c).device.memory.value *= 1.1; }},
      {"10 % more memory bandwidth",
       [=](cluster::Cluster& c) { node(c).device.memory_bandwidth.value *= 1.1; }},
      {"10 % more FLOP/s", [=](cluster::Cluster& c) {
         for (auto& peak : node(c).device.peak) peak.value *= 1.1;
       }}};
  if (cluster.groups.front().node.num_devices > 1)
    changes.push_back({"10 % more bandwidth inside a node",
                       [=](cluster::Cluster& c) { node(c).inside.bandwidth.value *= 1.1; }});
  if (cluster.num_nodes() > 1) {
    const auto faster = [](double add, double times) {
      return [=](cluster::Cluster& c) {
        for (cluster::NetworkLevel& level : c.levels)
          if (level.bandwidth.value > 0)
            level.bandwidth.value = level.bandwidth.value * times + add;
        double& own = c.groups.front().node.network.value;
        if (own > 0) own = own * times + add;
      };
    };
    changes.push_back({"1 GB/s more network for each node", faster(1e9, 1)});
    changes.push_back({"10 % more network for each node", faster(0, 1.1)});
  }
  return changes;
}

}  // namespace

std::optional<Contest> contest(const PredictAnswer& answer) {
  const ResolvedPlan& plan = answer.plan;
  if (!plan.degrees || !plan.cluster.uniform()) return std::nullopt;
  const Degrees& own = *plan.degrees;
  const search::Choices choices = space_of(own);
  // A plan that fits as surely as those that `plan` returns is compared with such plans alone.
  const double room = headroom_for({plan.model, plan.cluster, plan.basis}, kFitsByDefault);
  const cost::Memory& memory = answer.prediction.memory;
  const double headroom = memory.total <= (1 - room) * memory.capacity ? room : 0;
  const search::SearchResult found = search::search(plan.model, {plan.cluster}, plan.basis, choices,
                                                    {.top = 2, .headroom = headroom});
  Contest result;
  result.space = found.space;
  result.best_step = answer.prediction.step;
  if (!found.plans.empty() &&
      (!answer.prediction.fits || found.plans.front().prediction.step < result.best_step))
    result.best_step = found.plans.front().prediction.step;
  constexpr double kRounding = 1e-9;
  for (const search::Candidate& candidate : found.plans) {
    ResolvedPlan resolved{plan.model, plan.cluster, plan.basis, candidate.degrees, {}, {}};
    PredictAnswer described = describe(std::move(resolved), candidate.prediction);
    const bool quicker = candidate.prediction.step < answer.prediction.step * (1 - kRounding);
    if (search::same_layout(candidate.degrees, own)) {
      if (quicker || !answer.prediction.fits) result.same_layout = std::move(described);
    } else if (!result.rival) {
      result.rival = std::move(described);
    }
  }
  result.is_best =
      answer.prediction.fits && !result.same_layout &&
      (!result.rival || result.rival->prediction.step >= answer.prediction.step * (1 - kRounding));
  for (const Change& change : hardware_changes(plan.cluster)) {
    cluster::Cluster changed = plan.cluster;
    change.apply(changed);
    const search::SearchResult then = search::search(plan.model, {changed}, plan.basis, choices,
                                                     {.top = 1, .headroom = headroom});
    if (then.plans.empty()) continue;
    const cost::Prediction same = cost::Predictor(plan.model, changed, plan.basis, 1).predict(own);
    result.gains.push_back(
        {change.what, same.step, then.plans.front().prediction.step, then.plans.front().degrees});
  }
  return result;
}

}  // namespace nereus::app
