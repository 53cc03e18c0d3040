#include "predict/memory.hpp"

namespace nereus::cost {

using plan::Recompute;

LayerMemory layer_memory(const KindCost& kind, bool block, Recompute recompute,
                         const StackOptions& options, const Parameters& p) {
  const LayerCost& cost = kind.cost;
  LayerMemory memory;
  memory.logits = cost.logits;
  if (block && recompute == Recompute::kFull) {
    memory.kept = memory.block = cost.saved_input;
    memory.transient = p.activation_copies * cost.saved + cost.gathered;
    return memory;
  }
  const bool selective = block && recompute == Recompute::kSelective;
  if (selective && options.selective == SelectiveRule::kEveryOtherBlock) {
    const double whole = p.activation_copies * (cost.saved - cost.logits);
    memory.kept = 0.5 * (whole + cost.saved_input);
    memory.block = memory.transient = whole;
    return memory;
  }
  memory.kept = p.activation_copies * (cost.saved - cost.logits - cost.saved_scores) +
                (selective ? 0 : cost.saved_scores);
  if (block) memory.block = memory.kept;
  if (selective) memory.transient = cost.saved_scores;
  memory.gathered = cost.gathered;
  return memory;
}

MemoryParts memory_parts(const RankMemory& rank, const StackOptions& options, const Parameters& p) {
  MemoryParts parts{};
  const auto set = [&](MemoryPart part, double bytes) {
    parts[static_cast<std::size_t>(part)] = bytes;
  };
  set(MemoryPart::kWeights, rank.weights * options.weight_bytes + rank.table_weights);
  set(MemoryPart::kGradients, rank.gradients * options.gradient_bytes + rank.table_gradients);
  set(MemoryPart::kOptimizer, rank.optimizer * options.optimizer_bytes + rank.table_optimizer);
  set(MemoryPart::kActivations, rank.at_peak - rank.offloaded + rank.on_the_way +
                                    p.gathered_inputs * rank.gathered_inputs + rank.transient);
  set(MemoryPart::kLogits, rank.logits * p.logits_copies);
  set(MemoryPart::kBuffers, rank.gathered * options.gather_bytes + rank.staged +
                                rank.held_weights * p.buffer_bytes + rank.table_buffers);
  set(MemoryPart::kFixed, p.memory_fixed);
  set(MemoryPart::kSlack, total_of(parts) * (p.memory_slack - 1));
  return parts;
}

double total_of(const MemoryParts& parts) {
  double total = 0;
  for (const double part : parts) total += part;
  return total;
}

double allocated_of(const MemoryParts& parts) {
  return total_of(parts) - parts[static_cast<std::size_t>(MemoryPart::kSlack)];
}

}  // namespace nereus::cost
