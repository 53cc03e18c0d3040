#include "cost/tables.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.hpp"

namespace nereus::cost {

using plan::Degrees;

namespace {
std::uint64_t key_of(const Degrees& d, double samples) {
  // Degrees that decide a layer's cost on one rank. Mixed into 64 bits; equality is checked on the
  // same bits, so fields are packed without overlap: tp 14, cp 10, ep 12, expert_tp 4, precision 3,
  // flags 1, samples 20.
  const auto field = [](std::uint64_t value, int bits) { return value & ((1ULL << bits) - 1); };
  std::uint64_t key = field(static_cast<std::uint64_t>(d.tp), 14);
  key = key << 10 | field(static_cast<std::uint64_t>(d.cp), 10);
  key = key << 12 | field(static_cast<std::uint64_t>(d.ep), 12);
  key = key << 4 | field(static_cast<std::uint64_t>(std::log2(d.expert_tp)), 4);
  key = key << 3 | field(static_cast<std::uint64_t>(d.precision), 3);
  key = key << 1 | (d.sequence_parallel ? 1 : 0);
  key = key << 20 | field(static_cast<std::uint64_t>(samples * 16), 20);
  return key;
}

std::size_t hash_of(std::uint64_t key) {
  return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ULL) >> 32);
}
}  // namespace

Tables::Tables(const model::Model& model, const cluster::Cluster& cluster, const Stack& stack,
               int num_splits)
    : model_(model), options_(stack.options) {
  NEREUS_CHECK(!cluster.groups.empty(), "a cluster has at least one group of nodes");
  const cluster::Node& node = cluster.groups.front().node;
  device_ = node.device;
  parameters_ = stack.parameters_for(device_);
  devices_per_node_ = node.num_devices;
  fabric_.link = node.inside.bandwidth.value * parameters_.link_efficiency;
  fabric_.link_latency = parameters_.link_latency;
  fabric_.domain = std::max(node.num_devices, node.nvlink_domain);
  const double network =
      cluster.levels.empty() ? node.network.value : cluster.levels.front().bandwidth.value;
  fabric_.network = network / std::max(1, node.num_devices) * parameters_.network_efficiency;
  fabric_.network_latency = parameters_.network_latency;
  fabric_.jitter = parameters_.network_jitter;
  if (fabric_.link <= 0) fabric_.link = fabric_.network;
  flops_per_sample_ = model_.training_flops();
  for (const model::TiedWeights& tied : model_.tied) tied_parameters_ += tied.parameters;
  kernels_.resize(cluster::kNumPrecisions);
  block_size_ = static_cast<size_t>(std::max(1, num_splits));
  slots_.resize(std::bit_ceil(2 * block_size_));
  blocks_.push_back(std::make_unique<KindCost[]>(block_size_ * model_.kinds.size()));
}

int Tables::num_micro_batches(const Degrees& d) const {
  const int local = std::max(1, d.global_batch / (d.dp * d.micro_batch));
  return options_.local_batch_split && d.pp > 1 ? local * d.pp : local;
}

double Tables::samples_per_micro_batch(const Degrees& d) const {
  if (options_.local_batch_split && d.pp > 1) return static_cast<double>(d.micro_batch) / d.pp;
  return d.micro_batch;
}

const KernelModel& Tables::kernels(cluster::Precision precision) {
  auto& slot = kernels_[static_cast<size_t>(precision)];
  if (!slot) slot.emplace(device_, parameters_, precision, options_.attention);
  return *slot;
}

const StageTable& Tables::stage_table(int pp, int interleave) {
  const std::size_t index = static_cast<size_t>(pp * 64 + interleave);
  if (index >= stage_tables_.size()) stage_tables_.resize(index + 1);
  if (!stage_tables_[index])
    stage_tables_[index] =
        std::make_unique<StageTable>(make_stage_table(model_, pp, interleave, options_.stages));
  return *stage_tables_[index];
}

void Tables::grow() {
  std::vector<SplitCosts> bigger(slots_.size() * 2);
  for (const SplitCosts& slot : slots_) {
    if (slot.kinds == nullptr) continue;
    std::size_t i = hash_of(slot.key) & (bigger.size() - 1);
    while (bigger[i].kinds != nullptr) i = (i + 1) & (bigger.size() - 1);
    bigger[i] = slot;
  }
  slots_ = std::move(bigger);
}

const SplitCosts& Tables::split_costs(const Degrees& d) {
  const double samples = samples_per_micro_batch(d);
  const std::uint64_t key = key_of(d, samples);
  const auto find = [&] {
    std::size_t i = hash_of(key) & (slots_.size() - 1);
    while (slots_[i].kinds != nullptr && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
    return i;
  };
  std::size_t at = find();
  if (slots_[at].kinds != nullptr) return slots_[at];

  if (2 * (used_ + 1) > slots_.size()) {
    grow();
    at = find();
  }
  const KernelModel& kernels_of = kernels(d.precision);
  if (used_ > 0 && used_ % block_size_ == 0)
    blocks_.push_back(std::make_unique<KindCost[]>(block_size_ * model_.kinds.size()));
  KindCost* row = &blocks_.back()[(used_ % block_size_) * model_.kinds.size()];
  ++used_;
  const LayerSplit split{d.tp, d.cp, d.ep, d.expert_tp, d.sequence_parallel, samples};
  const Group tensor = group_of(d.tp, 1, fabric_.domain);
  const Group experts = group_of(d.ep, d.expert_tp, fabric_.domain);
  const Group context = group_of(d.cp, d.tp, fabric_.domain);
  for (std::size_t i = 0; i < model_.kinds.size(); ++i) {
    KindCost& kind = row[i];
    kind = KindCost{};
    kind.cost = layer_cost(model_.kinds[i], kernels_of, split);
    const int regions = kind.cost.num_tensor_regions;
    if (d.tp > 1 && regions > 0) {
      const double bytes = kind.cost.tensor_bytes / regions;
      if (d.sequence_parallel) {
        // all-gather in, reduce-scatter out; backward mirrors it and gathers the input once more
        // for the weights
        const double one = all_gather_seconds(fabric_, tensor, bytes);
        kind.tensor_forward = 2 * regions * one;
        kind.tensor_backward = 3 * regions * one;
        kind.collectives_forward = 2 * regions;
        kind.collectives_backward = 3 * regions;
      } else {
        const double one = all_reduce_seconds(fabric_, tensor, bytes);
        kind.tensor_forward = regions * one;
        kind.tensor_backward = regions * one;
        kind.collectives_forward = regions;
        kind.collectives_backward = regions;
      }
    }
    if (d.ep > 1 && kind.cost.expert_bytes > 0)
      kind.expert_forward = 2 * all_to_all_seconds(fabric_, experts, kind.cost.expert_bytes);
    if (d.cp > 1 && kind.cost.attention_forward > 0) {
      // Ring attention passes keys and values around while it computes on the last piece.
      for (const model::Operator& op : model_.kinds[i].operators) {
        if (op.kind != model::OpKind::kAttention) continue;
        const double pieces = op.rows * samples / d.cp * 2 * op.kv_heads * op.head_dim /
                              std::min(d.tp, op.kv_heads) * kernels_of.element;
        const double ring = all_gather_seconds(fabric_, context, pieces * d.cp);
        kind.context_forward += std::max(ring * 0.1, ring - kind.cost.attention_forward);
        kind.context_backward += std::max(ring * 0.2, 2 * ring - 2 * kind.cost.attention_forward);
      }
    }
  }
  slots_[at] = {key, row};
  return slots_[at];
}

}  // namespace nereus::cost
