#include "predict/predictor_tables.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/bits.hpp"
#include "base/error.hpp"
#include "cost/measured.hpp"

namespace nereus::cost {

using plan::Degrees;

std::uint64_t SplitKey::hash() const {
  const auto pair = [](int a, int b) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 |
           static_cast<std::uint32_t>(b);
  };
  std::uint64_t hash = mix(0, pair(tp, cp));
  hash = mix(hash, pair(ep, expert_tp));
  hash = mix(hash, pair(static_cast<int>(precision), (sequence_parallel ? 1 : 0) |
                                                         static_cast<int>(context) << 1 |
                                                         static_cast<int>(table_split) << 4));
  return mix(hash, bits_as<std::uint64_t>(samples));
}

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
      costs_(model.kinds.size(), num_splits),
      kinds_(model.kinds.size(), num_splits),
      stages_(1, 64) {
  flops_per_sample_ = model_.training_flops();
  for (const model::TiedWeights& tied : model_.tied) tied_parameters_ += tied.parameters;
  for (const model::LayerKind& kind : model_.kinds)
    if (kind.expert_parameters() > 0) has_experts_ = true;
  table_layer_ = model_.table_layer();
  kernels_.resize(cluster::kNumPrecisions);
  layers_of_kind_.resize(model_.kinds.size());
  for (const int kind : model_.layers) ++layers_of_kind_[static_cast<std::size_t>(kind)];
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

const KernelModel& Tables::kernels(cluster::Precision precision) {
  auto& slot = kernels_[static_cast<std::size_t>(precision)];
  if (!slot) {
    slot.emplace(machine_.device, machine_.parameters, precision, options_.attention);
    if (measured_) slot->measured = measured_->of(machine_.device.short_name, precision);
  }
  return *slot;
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
  LayerSplit split;
  split.tp = key.tp;
  split.cp = key.cp;
  split.ep = key.ep;
  split.expert_tp = key.expert_tp;
  split.sequence_parallel = key.sequence_parallel;
  split.samples = key.samples;
  split.context = key.context;
  if (has_tables()) {
    split.tables = find_slices(key.table_split, key.ep);
    if (split.tables == nullptr) {
      table_slices_.push_back(std::make_unique<TableSlices>(
          slice_tables(model_.layer(table_layer_), key.table_split, key.ep)));
      split.tables = table_slices_.back().get();
    }
    TableTiers tiers;
    tiers.weights = {1 - key.table_offload, 0, key.table_offload, 0};
    split.tier_seconds = tier_seconds(tiers, machine_);
  }
  const LayerWires wires{machine_.wire(key.tp, 1), machine_.wire(key.cp, key.tp),
                         machine_.wire(key.ep, key.expert_tp), machine_.wire(key.expert_tp, 1)};
  const KernelModel& kernel_model = kernels(key.precision);
  KindCost* row = costs_.insert(key);
  model_costs(model_, kernel_model, split, wires, row);
  return row;
}

const TableSlices* Tables::find_slices(plan::TableSplit split, int ep) const {
  for (const std::unique_ptr<TableSlices>& known : table_slices_)
    if (known->split == split && known->num_slices == ep) return known.get();
  return nullptr;
}

const TableSlices& Tables::table_slices(const Degrees& d) const {
  const TableSlices* slices = find_slices(split_of(d).table_split, d.ep);
  NEREUS_CHECK(slices != nullptr, "a plan's tables are sliced before its layers are costed");
  return *slices;
}

SplitKey Tables::split_of(const Degrees& d) const {
  return {d.tp,
          d.cp,
          d.ep,
          d.expert_tp,
          d.sequence_parallel,
          d.precision,
          samples_per_micro_batch(d),
          context_of(d.cp, d.context),
          has_tables() && d.ep > 1 ? d.table_split : plan::TableSplit::kTable,
          has_tables() ? d.offload.weights : 0};
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
