#include "cost/general/costs.hpp"

#include <bit>

#include "cost/general/layout.hpp"

namespace nereus::cost::general {

using plan::LayerRun;
using plan::Placement;
using plan::RankRange;
using plan::Replicas;

std::uint64_t CostKey::hash() const {
  std::uint64_t hash = std::bit_cast<std::uint64_t>(samples);
  for (const int value :
       {machine, tp, cp, ep, expert_tp, sequence_parallel ? 1 : 0, static_cast<int>(context),
        static_cast<int>(precision), tensor_wire, context_wire, expert_wire, expert_part_wire})
    hash = mix(hash, static_cast<std::uint64_t>(value));
  return hash;
}

LayerCosts::LayerCosts(const model::Model& model, Wires& wires, const StackOptions& options)
    : model_(model), wires_(wires), options_(options), rows_(model.kinds.size(), 32) {
  for (const model::LayerKind& kind : model.kinds) {
    bool vocabulary = false;
    for (const model::Operator& op : kind.operators)
      vocabulary |= op.split == model::Split::kVocabulary;
    has_vocabulary_.push_back(vocabulary);
  }
  kernels_.resize(static_cast<std::size_t>(wires.num_kinds() * cluster::kNumPrecisions));
}

const KernelModel& LayerCosts::kernels(int machine, cluster::Precision precision) {
  auto& slot = kernels_[static_cast<std::size_t>(machine * cluster::kNumPrecisions) +
                        static_cast<std::size_t>(precision)];
  if (!slot) {
    const Machine& own = wires_.machine(machine);
    slot.emplace(own.device, own.parameters, precision, options_.attention);
  }
  return *slot;
}

const KindCost* LayerCosts::row(const CostKey& key) {
  if (const KindCost* known = rows_.find(key)) return known;
  const LayerSplit split{key.tp,      key.cp,     key.ep, key.expert_tp, key.sequence_parallel,
                         key.samples, key.context};
  const LayerWires groups{wires_[key.tensor_wire], wires_[key.context_wire],
                          wires_[key.expert_wire], wires_[key.expert_part_wire]};
  const KernelModel& kernel_model = kernels(key.machine, key.precision);
  KindCost* row = rows_.insert(key);
  for (std::size_t i = 0; i < model_.kinds.size(); ++i)
    row[i] = kind_cost(model_.kinds[i], kernel_model, split, groups);
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

TeamCosts LayerCosts::of(const Placement& placement, const LayerRun& run, const Replicas& r,
                         int team, int machine, double samples) {
  CostKey key;
  key.machine = machine;
  key.tp = r.tp;
  key.cp = r.cp;
  key.ep = run.ep;
  key.expert_tp = run.expert_tp;
  key.sequence_parallel = placement.sequence_parallel;
  key.precision = placement.precision;
  key.samples = samples;
  key.context = context_of(r.cp, placement.context);
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
  TeamCosts costs{row(key), nullptr, &has_vocabulary_, key.tensor_wire};
  if (!placement.split_vocabulary && r.tp > 1) {
    key.tp = 1;
    key.sequence_parallel = false;
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
    key.precision = placement.precision;
    key.tp = static_cast<int>(c);
    key.tensor_wire = key.context_wire = key.expert_wire = key.expert_part_wire = wires_.none();
    const KindCost* costs = row(key);
    for (std::size_t i = 0; i < model_.kinds.size(); ++i) known.push_back(costs[i].cost.parameters);
  }
  return known[k];
}

double LayerCosts::expert_parameters(int kind, int cut) const {
  return model_.kinds[static_cast<std::size_t>(kind)].expert_parameters() / cut;
}

}  // namespace nereus::cost::general
