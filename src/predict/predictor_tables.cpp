#include "predict/predictor_tables.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/error.hpp"

namespace nereus::cost {

using plan::Degrees;

std::uint64_t KindKey::hash() const {
  return mix(split.hash(), static_cast<std::uint64_t>(recompute) << 2 | (tensor_overlap ? 2U : 0U) |
                               (pipelined ? 1U : 0U));
}

Tables::Tables(const model::Model& model, const cluster::Cluster& cluster, const Basis& basis,
               int num_splits)
    : model_(model),
      measured_(basis.layers),
      options_(basis.stack.options),
      machine_(make_machine(cluster, 0, basis)),
      slices_(model),
      kernels_(1, options_, measured_.get()),
      costs_(model.kinds.size(), num_splits),
      kinds_(model.kinds.size(), num_splits),
      stages_(1, 64) {
  flops_per_sample_ = model_.training_flops();
  for (const model::TiedWeights& tied : model_.tied) tied_parameters_ += tied.parameters;
  for (const model::LayerKind& kind : model_.kinds)
    if (kind.expert_parameters() > 0) has_experts_ = true;
  layers_of_kind_.resize(model_.kinds.size());
  for (const int kind : model_.layers) ++layers_of_kind_[kind];
}

int Tables::num_micro_batches(const Degrees& d) const {
  const int local = std::max(1, d.global_batch / (d.dp * d.micro_batch));
  if (!options_.local_batch_split || d.pp <= 1) return local;
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  return static_cast<int>(std::min(kMost, std::int64_t{local} * d.pp));
}

double Tables::samples_per_micro_batch(const Degrees& d) const {
  if (options_.local_batch_split && d.pp > 1) return static_cast<double>(d.micro_batch) / d.pp;
  return d.micro_batch;
}

const StageTable& Tables::stages(const StageKey& key) {
  if (const std::unique_ptr<StageTable>* known = stages_.find(key)) return **known;
  std::unique_ptr<StageTable>& slot = *stages_.insert(key);
  slot = std::make_unique<StageTable>(make_stage_table(model_, key, options_.stages));
  if (slot->classes.size() > paces.size()) {
    paces.resize(slot->classes.size());
    times.resize(slot->classes.size());
    layers.resize(slot->classes.size());
    reduces.resize(slot->classes.size());
  }
  if (slot->chunks.size() > chunk_sends.size()) {
    chunk_sends.resize(slot->chunks.size());
    chunk_passes.resize(slot->chunks.size());
    chunk_parameters.resize(slot->chunks.size());
  }
  if (slot->chunk_of_stage.size() > stage_seconds.size())
    stage_seconds.resize(slot->chunk_of_stage.size());
  passes.make_room(kinds_.num_rows(), stage_seconds.size());
  return *slot;
}

const KindCost* Tables::costs(const SplitKey& key) {
  if (const KindCost* row = costs_.find(key)) return row;
  const LayerSplit& split = key.split;
  const LayerWires wires{machine_.wire(split.tp, 1), machine_.wire(split.cp, split.tp),
                         machine_.wire(split.ep, split.expert_tp),
                         machine_.wire(split.expert_tp, 1)};
  const KernelModel& kernel_model = kernels(key.precision);
  KindCost* row = costs_.insert(key);
  model_costs(model_, kernel_model, split, wires, row);
  return row;
}

namespace {

plan::TableSplit table_split(const Degrees& d) {
  return d.ep > 1 ? d.table_split : plan::TableSplit::kTable;
}

}  // namespace

const TableSlices& Tables::table_slices(const Degrees& d) const {
  const TableSlices* slices = slices_.find(table_split(d), d.ep);
  NEREUS_CHECK(slices != nullptr, "a plan's tables are sliced before its layers are costed");
  return *slices;
}

SplitKey Tables::split_of(const Degrees& d) {
  SplitKey key{{d.tp, d.cp, d.ep, d.expert_tp, d.sequence_parallel, samples_per_micro_batch(d),
                context_of(d.cp, d.context)},
               d.precision};
  if (!has_tables()) return key;
  key.split.tables = slices_.of(table_split(d), d.ep);
  TableTiers tiers;
  tiers.weights = {1 - d.offload.weights, 0, d.offload.weights, 0};
  key.split.tier_seconds = tier_seconds(tiers, machine_);
  return key;
}

const KindCost* Tables::costs(const Degrees& d) { return costs(split_of(d)); }

const KindRow* Tables::kinds(const Degrees& d, plan::Recompute recompute) {
  KindKey key;
  key.split = split_of(d);
  key.recompute = recompute;
  key.tensor_overlap = d.tensor_overlap;
  key.pipelined = d.pp > 1 && d.num_ranks() > machine_.devices_per_node;
  if (const KindRow* row = kinds_.find(key)) return row;

  const KindCost* split = costs(key.split);
  const StageRules rules =
      stage_rules(machine_, options_, machine_.wire(d.tp, 1), d.tensor_overlap, key.pipelined);
  KindRow* row = kinds_.insert(key);
  stage_times.make_room(kinds_.num_rows());
  passes.make_room(kinds_.num_rows(), stage_seconds.size());
  for (std::size_t i = 0; i < model_.kinds.size(); ++i) {
    const bool block = model_.kinds[i].role == model::LayerRole::kBlock;
    row[i].time = layer_time(split[i], block, recompute, rules);
    row[i].memory = layer_memory(split[i], block, recompute, options_, machine_.parameters);
    row[i].message = split[i].cost.message;
  }
  return row;
}

}  // namespace nereus::cost
