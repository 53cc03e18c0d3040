#include "cost/layer_cost.hpp"

#include <algorithm>

#include "cost/embedding.hpp"
#include "cost/measured.hpp"

namespace nereus::cost {

namespace {

void add_tensor(KindCost& out, const LayerSplit& split, const Wire& wire) {
  const int regions = out.cost.num_tensor_regions;
  if (split.tp <= 1 || regions == 0) return;
  const double bytes = out.cost.tensor_bytes / regions;
  if (split.sequence_parallel) {
    const double one = all_gather_seconds(wire.fabric, wire.group, bytes);
    out.tensor_forward = 2 * regions * one;
    out.tensor_backward = 3 * regions * one;
    out.collectives_forward = 2 * regions;
    out.collectives_backward = 3 * regions;
  } else {
    const double one = all_reduce_seconds(wire.fabric, wire.group, bytes);
    out.tensor_forward = out.tensor_backward = regions * one;
    out.collectives_forward = out.collectives_backward = regions;
  }
}

void add_context(KindCost& out, const model::LayerKind& kind, const KernelModel& kernels,
                 const LayerSplit& split, const Wire& wire) {
  const double attention = out.cost.attention_forward;
  if (split.cp <= 1 || attention <= 0) return;
  // Unfused scores cost 3 passes forward and 5 backward (cost/kernel_time.hpp), so the backward
  // pass has only 5/3 of the forward time to overlap with.
  const double backward = (kernels.fused_attention ? 2 : 5.0 / 3) * attention;
  double ring = 0;
  double exchange = 0;
  for (const model::Operator& op : kind.operators) {
    if (op.kind != model::OpKind::kAttention) continue;
    const double tokens = op.rows * split.samples / split.cp;
    if (split.context == plan::ContextKind::kAllToAll) {
      // Queries, keys, values in and the output back; fewer key-value heads than ranks are copied.
      const double per_rank = static_cast<double>(op.heads) / split.tp;
      const double kv_heads = std::max<double>(
          split.cp, static_cast<double>(op.kv_heads) / std::min(split.tp, op.kv_heads));
      const double width = per_rank * (op.head_dim + op.value_head_dim) +
                           kv_heads * (op.head_dim + op.value_head_dim);
      exchange += all_to_all_seconds(wire.fabric, wire.group, tokens * width * kernels.element);
      out.exchange_bytes += tokens * width * kernels.element;
      continue;
    }
    const double pieces = op.rows * split.samples / split.cp * 2 * op.kv_heads * op.head_dim /
                          std::min(split.tp, op.kv_heads) * kernels.element;
    ring += all_gather_seconds(wire.fabric, wire.group, pieces * split.cp);
    out.ring_bytes += pieces;
  }
  out.context_forward = std::max(ring * 0.1, ring - attention) + exchange;
  out.context_backward = std::max(ring * 0.2, 2 * ring - backward) + exchange;
}

}  // namespace

KindCost kind_cost(const model::LayerKind& kind, const KernelModel& kernels,
                   const LayerSplit& split, const LayerWires& wires) {
  KindCost out;
  out.cost = layer_cost(kind, kernels, split);
  add_tensor(out, split, wires.tensor);
  add_context(out, kind, kernels, split, wires.context);
  const LayerCost& cost = out.cost;
  if (split.ep > 1 && cost.expert_bytes > 0)
    out.expert_forward =
        2 * dispatch_seconds(wires.experts.fabric, wires.experts.group, cost.expert_bytes,
                             cost.expert_copies, kernels.dispatch_once);
  if (split.expert_tp > 1 && cost.expert_bytes > 0)
    out.expert_forward +=
        2 * all_gather_seconds(wires.expert_parts.fabric, wires.expert_parts.group,
                               cost.expert_bytes * split.expert_tp);
  if (split.ep > 1 && split.tables != nullptr && kind.table_parameters() > 0) {
    const ExchangeSeconds exchange = exchange_seconds(
        *split.tables, table_traffic(*split.tables, split.samples, kernels.element), wires.experts);
    out.table_indices = exchange.indices;
    out.table_vectors = exchange.vectors;
    out.table_forward = exchange.vectors;
    out.table_backward = exchange.vectors + exchange.indices;
  }
  return out;
}

namespace {

// Seconds of the layers beside the tables, forward and backward pass.
struct Beside {
  double forward = 0;
  double backward = 0;
  void add(const LayerCost& cost) {
    forward += cost.forward;
    backward += cost.backward;
  }
};

// What the other layers leave exposed of the tables' exchanges.
void expose_tables(const model::Model& model, const KernelModel& kernels, const LayerSplit& split,
                   KindCost* row) {
  const int tables = model.table_layer();
  int reader = model.edges.empty() ? tables + 1 : model.num_layers();
  for (const model::Edge& edge : model.edges)
    if (edge.from == tables) reader = std::min(reader, edge.to);
  const double apart = split.ep > 1 ? kernels.bottom_alone : 0;
  LayerSplit group = split;
  group.samples *= split.ep;
  Beside beside;  // concurrently with this batch's exchanges
  Beside alone;   // the same on one rank, for all samples of the group
  Beside behind;  // concurrently with the exchange of the next batch's indices
  for (int i = tables + 1; i < model.num_layers(); ++i) {
    (i < reader ? beside : behind).add(row[model.layers[i]].cost);
    if (i < reader && apart > 0)
      alone.add(layer_cost(model.kinds[model.layers[i]], kernels, group));
  }
  KindCost& own = row[model.layers[tables]];
  const auto exposed = [&](double tables_seconds, double each, double all) {
    // While one rank computes for all of them, the others read tables; then they exchange vectors.
    const double waits = std::max(0.0, all - tables_seconds - each);
    return (1 - apart) * std::max(0.0, own.table_vectors - each) +
           apart * (own.table_vectors + waits);
  };
  own.table_forward = exposed(own.cost.forward, beside.forward, alone.forward);
  own.table_backward = exposed(own.cost.backward, beside.backward, alone.backward) +
                       std::max(0.0, own.table_indices - behind.forward - behind.backward);
}

}  // namespace

void model_costs(const model::Model& model, const KernelModel& kernels, const LayerSplit& split,
                 const LayerWires& wires, KindCost* row) {
  for (std::size_t i = 0; i < model.kinds.size(); ++i) {
    row[i] = kind_cost(model.kinds[i], kernels, split, wires);
    if (kernels.measured == nullptr) continue;
    if (const MeasuredKind* known = kernels.measured->find(i, split)) {
      use_measured(row[i], *known, split.samples);
    } else if (const MeasuredKind* other = kernels.measured->least(i)) {
      LayerSplit as_measured = split;
      as_measured.tp = other->tp;
      as_measured.cp = 1;
      as_measured.sequence_parallel = split.sequence_parallel && other->tp > 1;
      scale_measured(row[i], *other, layer_cost(model.kinds[i], kernels, as_measured),
                     split.samples);
    }
  }
  if (split.tables != nullptr && model.table_layer() >= 0)
    expose_tables(model, kernels, split, row);
}

}  // namespace nereus::cost
