#include "predict/general/team_costs.hpp"

#include <algorithm>

#include "base/bits.hpp"
#include "cost/measured.hpp"
#include "predict/general/layout.hpp"

namespace nereus::cost::general {

using plan::LayerRun;
using plan::Placement;
using plan::RankRange;
using plan::Replicas;

std::uint64_t CostKey::hash() const {
  std::uint64_t hash = bits_as<std::uint64_t>(samples);
  for (const int value : {machine, tp, cp, ep, expert_tp, sequence_parallel ? 1 : 0,
                          static_cast<int>(context), static_cast<int>(precision), tensor_wire,
                          context_wire, expert_wire, expert_part_wire, tables})
    hash = mix(hash, static_cast<std::uint64_t>(value));
  return hash;
}

LayerCosts::LayerCosts(const model::Model& model, Wires& wires, const StackOptions& options,
                       const MeasuredLayers* measured)
    : model_(model),
      wires_(wires),
      options_(options),
      measured_(measured),
      rows_(model.kinds.size(), 32) {
  for (const model::LayerKind& kind : model.kinds) {
    bool vocabulary = false;
    for (const model::Operator& op : kind.operators)
      vocabulary |= op.split == model::Split::kVocabulary;
    has_vocabulary_.push_back(vocabulary);
  }
  kernels_.resize(static_cast<std::size_t>(wires.num_kinds() * cluster::kNumPrecisions));
  table_layer_ = model.table_layer();
}

const KernelModel& LayerCosts::kernels(int machine, cluster::Precision precision) {
  auto& slot = kernels_[static_cast<std::size_t>(machine * cluster::kNumPrecisions) +
                        static_cast<std::size_t>(precision)];
  if (!slot) {
    const Machine& own = wires_.machine(machine);
    slot.emplace(own.device, own.parameters, precision, options_.attention);
    if (measured_) slot->measured = measured_->of(own.device.short_name, precision);
  }
  return *slot;
}

const KindCost* LayerCosts::row(const CostKey& key) {
  if (const KindCost* known = rows_.find(key)) return known;
  LayerSplit split;
  split.tp = key.tp;
  split.cp = key.cp;
  split.ep = key.ep;
  split.expert_tp = key.expert_tp;
  split.sequence_parallel = key.sequence_parallel;
  split.samples = key.samples;
  split.context = key.context;
  if (key.tables >= 0) split.tables = slices_[static_cast<std::size_t>(key.tables)].slices.get();
  split.tier_seconds = key.tier_seconds;
  const LayerWires groups{wires_[key.tensor_wire], wires_[key.context_wire],
                          wires_[key.expert_wire], wires_[key.expert_part_wire]};
  const KernelModel& kernel_model = kernels(key.machine, key.precision);
  KindCost* row = rows_.insert(key);
  model_costs(model_, kernel_model, split, groups, row);
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

int LayerCosts::slices_of(const LayerRun& run) {
  if (table_layer_ < run.first_layer || table_layer_ >= run.first_layer + run.num_layers) return -1;
  const auto same = std::find_if(slices_.begin(), slices_.end(), [&](const KnownSlices& known) {
    return known.slices->split == run.table_split && known.slices->num_slices == run.ep &&
           known.slice_of == run.table_slices;
  });
  if (same != slices_.end()) return static_cast<int>(same - slices_.begin());
  slices_.push_back({run.table_slices,
                     std::make_unique<TableSlices>(slice_tables(
                         model_.layer(table_layer_), run.table_split, run.ep, run.table_slices))});
  return static_cast<int>(slices_.size()) - 1;
}

const TableSlices* LayerCosts::table_slices(const LayerRun& run) {
  const int index = slices_of(run);
  return index < 0 ? nullptr : slices_[static_cast<std::size_t>(index)].slices.get();
}

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
  if (table_layer_ >= 0 && (key.tables = slices_of(run)) >= 0) {
    const TableTiers tiers = table_tiers(run);
    key.tier_seconds = tier_seconds(tiers, wires_.machine(machine));
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
