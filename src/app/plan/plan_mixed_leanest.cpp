#include "app/plan/plan_mixed_leanest.hpp"

#include <algorithm>

#include "search/mixed/canonical.hpp"
#include "search/mixed/flat_plan.hpp"

namespace nereus::app {

namespace {

std::vector<int> tensor_degrees(const model::Model& model, const mixed::Machines& machines,
                                const search::Choices& choices) {
  if (!choices.tp.empty()) return choices.tp;
  int widest = 1;
  for (const mixed::Group& group : machines.groups()) widest = std::max(widest, group.per_node);
  if (choices.max_tp > 0) widest = std::min(widest, choices.max_tp);
  std::vector<int> degrees;
  for (int tp = 1; tp <= widest; tp *= 2)
    if (mixed::can_cut(model, tp)) degrees.push_back(tp);
  return degrees;
}

// Teams of each group; the group `without` is not used.
std::vector<int> teams_of(const mixed::Machines& machines, int tp, std::size_t without) {
  std::vector<int> uses;
  for (const mixed::Group& group : machines.groups())
    uses.push_back(group.per_node % tp == 0 && uses.size() != without ? group.count / tp : 0);
  return uses;
}

std::optional<plan::Placement> fitting(mixed::Machines& machines, const mixed::FlatManner& manner,
                                       double room) {
  if (std::all_of(manner.uses.begin(), manner.uses.end(), [](int n) { return n == 0; }))
    return std::nullopt;
  std::optional<plan::Placement> found = mixed::best_flat(machines, manner, room);
  if (!found) return std::nullopt;
  const cost::Prediction p = machines.predictor().predict(*found);
  // A search gives every device what it has to compute and to keep, but knows no host memory.
  if (!p.fits || p.memory.total > room * p.memory.capacity) return std::nullopt;
  return found;
}

}  // namespace

std::optional<plan::Placement> LeanestPlan::find(const cluster::Cluster& cluster, int batch) const {
  plan::Placement like;
  like.global_batch = batch;
  like.precision = choices_.precision;
  const cluster::Cluster own = mixed::canonical(cluster).cluster;
  mixed::Machines machines(inputs_.model, own, inputs_.basis, like);
  const std::size_t num_groups = own.groups.size();
  for (const int tp : tensor_degrees(inputs_.model, machines, choices_))
    for (const double offload : {1.0, 0.0})
      for (std::size_t i = 0; i <= num_groups; ++i) {
        const std::size_t without = i == 0 ? num_groups : i - 1;  // all of them first
        const mixed::FlatManner manner{tp, plan::Recompute::kFull, offload, 3,
                                       teams_of(machines, tp, without)};
        if (std::optional<plan::Placement> found = fitting(machines, manner, room_)) return found;
      }
  return std::nullopt;
}

}  // namespace nereus::app
