#include "predict/general/team_costs.hpp"

#include <algorithm>

#include "predict/general/layout.hpp"

namespace nereus::cost::general {

using plan::LayerRun;
using plan::Placement;
using plan::RankRange;
using plan::Replicas;

std::uint64_t CostKey::hash() const {
  std::uint64_t hash = own.hash();
  for (const int value : {machine, tensor_wire, context_wire, expert_wire, expert_part_wire})
    hash = mix(hash, static_cast<std::uint64_t>(value));
  return hash;
}

LayerCosts::LayerCosts(const model::Model& model, Wires& wires, const StackOptions& options,
                       const MeasuredLayers* measured)
    : model_(model),
      wires_(wires),
      kernels_(wires.num_kinds(), options, measured),
      rows_(model.kinds.size(), 32),
      slices_(model) {
  for (const model::LayerKind& kind : model.kinds) {
    bool vocabulary = false;
    for (const model::Operator& op : kind.operators)
      vocabulary |= op.split == model::Split::kVocabulary;
    has_vocabulary_.push_back(vocabulary);
  }
}

const KindCost* LayerCosts::row(const CostKey& key) {
  if (const KindCost* known = rows_.find(key)) return known;
  const LayerWires groups{wires_[key.tensor_wire], wires_[key.context_wire],
                          wires_[key.expert_wire], wires_[key.expert_part_wire]};
  const KernelModel& kernel_model =
      kernels_.of(key.machine, wires_.machine(key.machine), key.own.precision);
  KindCost* row = rows_.insert(key);
  model_costs(model_, kernel_model, key.own.split, groups, row);
  return row;
}

namespace {

const plan::StateShare* expert_weights(const LayerRun& run) {
  for (const plan::StateShare& share : run.state)
    if (share.experts && share.kind == plan::StateKind::kWeights && !share.ranks.empty())
      return &share;
  return nullptr;
}

}  // namespace

TableTiers table_tiers(const LayerRun& run) {
  TableTiers tiers;
  const auto read = [&](plan::StateKind kind, std::array<double, 4>& shares) {
    std::array<double, 4> found{};
    double sum = 0;
    for (const plan::StateShare& share : run.state) {
      if (!share.experts || share.kind != kind || share.peer_copy || share.first_slice != 0)
        continue;
      const double part =
          static_cast<double>(share.end - share.begin) / static_cast<double>(plan::kStateUnits);
      found[static_cast<std::size_t>(share.tier)] += part;
      sum += part;
    }
    if (sum <= 0) return;
    for (std::size_t t = 0; t < found.size(); ++t) shares[t] = found[t] / sum;
  };
  read(plan::StateKind::kWeights, tiers.weights);
  read(plan::StateKind::kOptimizer, tiers.state);
  return tiers;
}

const TableSlices* LayerCosts::table_slices(const LayerRun& run) {
  const int layer = slices_.layer();
  if (layer < run.first_layer || layer >= run.first_layer + run.num_layers) return nullptr;
  return slices_.of(run.table_split, run.ep, run.table_slices);
}

TeamCosts LayerCosts::of(const Placement& placement, const LayerRun& run, const Replicas& r,
                         int team, int machine, double samples) {
  CostKey key;
  key.machine = machine;
  key.own = {{r.tp, r.cp, run.ep, run.expert_tp, placement.sequence_parallel, samples,
              context_of(r.cp, placement.context), table_slices(run)},
             placement.precision};
  LayerSplit& split = key.own.split;
  const int first = rank_at(r, team, 0, 0);
  const int none = wires_.none();
  key.tensor_wire = wires_.of(RankRange{first, r.tp, r.tensor_stride});
  key.context_wire = r.cp > 1 ? wires_.of(RankRange{first, r.cp, r.context_stride}) : none;
  key.expert_wire = key.expert_part_wire = none;
  const bool experts_split = run.ep > 1 || run.expert_tp > 1;
  if (const plan::StateShare* share = experts_split ? expert_weights(run) : nullptr) {
    // Ranks that hold the same part of the groups of experts, and those with parts of one group.
    const int at = share->ranks.front().first;
    if (run.ep > 1)
      key.expert_wire = wires_.of(RankRange{at, run.ep, share->slice_stride * run.expert_tp});
    if (run.expert_tp > 1)
      key.expert_part_wire = wires_.of(RankRange{at, run.expert_tp, share->slice_stride});
  }
  if (split.tables != nullptr)
    split.tier_seconds = tier_seconds(table_tiers(run), wires_.machine(machine));
  TeamCosts costs{row(key), nullptr, &has_vocabulary_, key.tensor_wire};
  if (!placement.split_vocabulary && r.tp > 1) {
    split.tp = 1;
    split.sequence_parallel = false;
    key.tensor_wire = none;
    costs.whole = row(key);
  }
  return costs;
}

double LayerCosts::dense_parameters(const Placement& placement, int kind, int cut) {
  const auto k = static_cast<std::size_t>(kind);
  const auto c =
      static_cast<std::size_t>(placement.split_vocabulary || !has_vocabulary_[k] ? cut : 1);
  if (c >= dense_parameters_.size()) dense_parameters_.resize(c + 1);
  std::vector<double>& known = dense_parameters_[c];
  if (known.empty()) {
    CostKey key;
    key.own.precision = placement.precision;
    key.own.split.tp = static_cast<int>(c);
    key.tensor_wire = key.context_wire = key.expert_wire = key.expert_part_wire = wires_.none();
    const KindCost* costs = row(key);
    for (std::size_t i = 0; i < model_.kinds.size(); ++i) known.push_back(costs[i].cost.parameters);
  }
  return known[k];
}

double LayerCosts::expert_parameters(int kind, int cut) const {
  return model_.kinds[kind].expert_parameters() / cut;
}

}  // namespace nereus::cost::general
