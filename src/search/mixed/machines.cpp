#include "search/mixed/machines.hpp"

#include <algorithm>

namespace nereus::mixed {

std::vector<Group> groups_of(const cluster::Cluster& cluster) {
  std::vector<Group> groups;
  int first = 0;
  for (const cluster::NodeGroup& nodes : cluster.groups) {
    groups.push_back({first, nodes.num_devices(), nodes.node.num_devices});
    first += nodes.num_devices();
  }
  return groups;
}

bool can_cut(const model::Model& model, int tp) {
  if (tp == 1 || !model.transformer) return tp == 1;
  const model::TransformerShape& shape = *model.transformer;
  return shape.heads % tp == 0 && shape.kv_heads % tp == 0 && shape.ffn % tp == 0 &&
         shape.seq % tp == 0;
}

plan::Placement alone(const plan::Placement& like, const model::Model& model, const Group& group,
                      const Manner& manner, int samples, int num_micro_batches) {
  plan::Placement p = like;
  p.global_batch = static_cast<std::int64_t>(samples) * num_micro_batches;
  p.sequence_parallel = manner.tp > 1;
  plan::LayerRun run;
  run.num_layers = model.num_layers();
  plan::Replicas team;
  team.first = group.first;
  team.tp = manner.tp;
  team.team_stride = manner.tp;
  team.micro_batch = samples;
  team.num_micro_batches = num_micro_batches;
  team.recompute = manner.recompute;
  run.replicas = {team};
  for (const plan::StateKind kind :
       {plan::StateKind::kWeights, plan::StateKind::kGradients, plan::StateKind::kOptimizer}) {
    plan::StateShare share;
    share.kind = kind;
    share.cut = share.num_slices = manner.tp;
    share.ranks = {{group.first, 1, 1}};
    run.state.push_back(share);
  }
  p.runs = {run};
  return p;
}

Machines::Machines(const model::Model& model, const cluster::Cluster& cluster,
                   const cost::Basis& basis, const plan::Placement& like)
    : model_(model), like_(like), groups_(groups_of(cluster)), predictor_(model, cluster, basis) {}

double Machines::seconds(const Manner& manner, int samples) {
  const auto [at, is_new] = seconds_.try_emplace({manner, samples});
  if (is_new) {
    const Group& group = groups_[manner.group];
    const auto step = [&](int n) {
      return predictor_.predict(alone(like_, model_, group, manner, samples, n)).step;
    };
    at->second = step(2) - step(1);
  }
  return at->second;
}

const std::vector<double>& Machines::layers(const Manner& manner, int samples) {
  const auto [at, is_new] = layers_.try_emplace({manner, samples});
  if (is_new)
    at->second =
        predictor_.layer_seconds(alone(like_, model_, groups_[manner.group], manner, samples, 1));
  return at->second;
}

double Machines::rate(const Manner& manner) {
  const auto [at, is_new] = rates_.try_emplace(manner);
  if (is_new)
    for (int m = 1; m <= std::min<std::int64_t>(kMostMicroBatch, like_.global_batch);
         m = m < 16 ? m + 1 : 2 * m)
      at->second = std::max(at->second, m / seconds(manner, m));
  return at->second;
}

double Machines::fastest_rate(const std::vector<int>& tensor_degrees) {
  double rate = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    double best = 0;
    for (const int tp : tensor_degrees) {
      if (groups_[g].per_node % tp != 0) continue;
      // Larger micro-batches are never slower a sample, but for edges of tiles.
      for (int m = 1; m <= like_.global_batch; m = m < 16 ? m + 1 : 2 * m)
        best = std::max(best, m / (tp * seconds({static_cast<int>(g), tp, {}}, m)));
    }
    rate += best * groups_[g].count;
  }
  return rate;
}

}  // namespace nereus::mixed
