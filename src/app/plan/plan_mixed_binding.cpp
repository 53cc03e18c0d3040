#include "app/plan/plan_mixed_binding.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/format.hpp"
#include "predict/general/general_predictor.hpp"
#include "search/mixed/machines.hpp"

namespace nereus::app {

double bytes_of_state(const Inputs& inputs) {
  const cost::StackOptions& o = inputs.basis.stack.options;
  return inputs.model.parameters() * (o.weight_bytes + o.gradient_bytes + o.optimizer_bytes);
}

double memory_of(const cluster::NodeGroup& group) {
  return group.num_devices() * group.node.device.capacity().value;
}

double memory_of(const cluster::Cluster& cluster) {
  double sum = 0;
  for (const cluster::NodeGroup& group : cluster.groups) sum += memory_of(group);
  return sum;
}

double memory_beyond(const cluster::NodeGroup& group) {
  double sum = 0;
  for (const cluster::MemoryTier& tier : group.node.tiers) sum += group.count * tier.capacity.value;
  return sum;
}

namespace {

std::string no_team(const PlanAnswer& nothing) {
  std::vector<std::string> nodes;
  for (const cluster::NodeGroup& group : nothing.inputs.cluster.groups)
    nodes.push_back(fmt::format("{} of a {}", group.node.num_devices, group.node.name));
  return fmt::format(
      "no layout is possible: tp = {} does not divide the number of devices of any "
      "node ({})",
      fmt::join(nothing.choices.tp, ", "), fmt::join(nodes, ", "));
}

// Memory of one sample on a device, in addition to the state, with full recompute.
double beside_state(const PlanAnswer& nothing, int group) {
  const Inputs& inputs = nothing.inputs;
  plan::Placement like;
  like.precision = nothing.choices.precision;
  const mixed::Group own = mixed::groups_of(inputs.cluster)[group];
  const plan::Placement alone =
      mixed::alone(like, inputs.model, own, {group, 1, plan::Recompute::kFull}, 1, 1);
  const cost::Memory memory =
      cost::predict(alone, inputs.model, inputs.cluster, inputs.basis).memory;
  double state = 0;
  for (const cost::MemoryPart part :
       {cost::MemoryPart::kWeights, cost::MemoryPart::kGradients, cost::MemoryPart::kOptimizer})
    state += memory.part(part);
  // Slack is a share of all.
  const double without_slack = memory.total - memory.part(cost::MemoryPart::kSlack);
  return memory.total * (1 - state / without_slack);
}

}  // namespace

std::string mixed_binding(const PlanRequest& request, const PlanAnswer& nothing) {
  const cluster::Cluster& cluster = nothing.inputs.cluster;
  const double state = bytes_of_state(nothing.inputs), memory = memory_of(cluster);
  const double headroom = request.options.headroom;
  const std::string free =
      headroom > 0 ? fmt::format(", of which {:.0f} % must stay free", 100 * headroom) : "";
  if (state > (1 - headroom) * memory)
    return fmt::format(
        "device memory: weights, gradients and optimizer state take {}, but all {} devices "
        "together have {}{}",
        format_bytes(Bytes{state}), format_count(cluster.num_devices()),
        format_bytes(Bytes{memory}), free);
  if (nothing.search.space == 0) return no_team(nothing);
  int largest = 0;
  const auto capacity = [&](int g) { return cluster.groups[g].node.device.capacity(); };
  for (int g = 1; g < static_cast<int>(cluster.groups.size()); ++g)
    if (capacity(g).value > capacity(largest).value) largest = g;
  return fmt::format(
      "device memory: none of {} fits. The state takes {} of {}, the memory of all devices "
      "together{}. One sample with full recompute needs {} more on one {}. This device has {}",
      counted(format_count(nothing.search.space), "candidate"), format_bytes(Bytes{state}),
      format_bytes(Bytes{memory}), free, format_bytes(Bytes{beside_state(nothing, largest)}),
      cluster.groups[largest].node.device.short_name, format_bytes(capacity(largest)));
}

}  // namespace nereus::app
