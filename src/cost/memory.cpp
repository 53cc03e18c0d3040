#include "cost/memory.hpp"

#include <algorithm>

namespace nereus::cost {

using plan::Degrees;
using plan::Recompute;

namespace {

// Micro-batches of activations that stage `index` holds at its peak.
double in_flight(const Degrees& d, int index, int m) {
  if (d.pp == 1) return 1;
  if (d.schedule == plan::Schedule::kGpipe) return m;
  const double depth = d.pp - index;
  if (d.interleave > 1) {
    const double chunks = (d.pp - index - 1) * 2.0 + (d.interleave - 1.0) * d.pp + 1;
    return std::min<double>(chunks / d.interleave, m);
  }
  return std::min<double>(depth, m);
}

}  // namespace

Memory memory_of(const Tables& tables, const SplitCosts& split, const StageTable& stages,
                 const Degrees& d, int m) {
  const Parameters& p = tables.parameters();
  const StackOptions& options = tables.options();
  Memory worst;
  worst.capacity = tables.device().memory.value;
  for (const StageClass& stage : stages.classes) {
    double parameters = 0;
    double saved = 0;
    double transient = 0;
    double logits = 0;
    double largest_layer = 0;
    double gathered = 0;
    double one_layer = 0;
    for (std::size_t kind = 0; kind < stage.counts.size(); ++kind) {
      const int count = stage.counts[kind];
      if (count == 0) continue;
      const LayerCost& cost = split.kinds[kind].cost;
      const bool block = tables.model().kinds[kind].role == model::LayerRole::kBlock;
      parameters += count * (cost.parameters + cost.expert_parameters);
      largest_layer = std::max(largest_layer, cost.parameters + cost.expert_parameters);
      logits += cost.logits;
      const double copies = p.activation_copies;
      if (block && d.recompute == Recompute::kFull) {
        saved += count * cost.saved_input;
        one_layer = std::max(one_layer, cost.saved_input);
        transient = std::max(transient, copies * cost.saved + cost.gathered);
      } else {
        const bool selective = block && d.recompute == Recompute::kSelective;
        if (selective && options.selective == SelectiveRule::kEveryOtherBlock) {
          const double whole = copies * (cost.saved - cost.logits);
          saved += count * 0.5 * (whole + cost.saved_input);
          one_layer = std::max(one_layer, whole);
          transient = std::max(transient, whole);
          continue;
        }
        const bool drops_scores = selective;
        const double kept = copies * (cost.saved - cost.logits - cost.saved_scores) +
                            (drops_scores ? 0 : cost.saved_scores);
        saved += count * kept;
        if (block) one_layer = std::max(one_layer, kept);
        if (drops_scores) transient = std::max(transient, cost.saved_scores);
        if (d.pp == 1) gathered += count * cost.gathered;
      }
    }
    if (stage.holds_first_layer && stage.holds_last_layer)
      parameters -= tables.tied_parameters() / d.tp;

    const double group = d.zero_group > 0 ? d.zero_group : d.dp * d.cp;
    // ZeRO-2 and -3 under a pipeline keep weights and gradients whole until the step ends: every
    // micro-batch needs them again.
    const bool keeps_whole = d.pp > 1;
    const double weights_over = d.zero >= 3 ? group : 1;
    const double gradients_over = d.zero >= 2 && !keeps_whole ? group : 1;
    const double optimizer_over = d.zero >= 1 ? group : 1;
    std::array<double, kNumMemoryParts> parts{};
    const auto set = [&](MemoryPart part, double bytes) {
      parts[static_cast<size_t>(part)] = bytes;
    };
    set(MemoryPart::kWeights, parameters * options.weight_bytes / weights_over);
    set(MemoryPart::kGradients, parameters * options.gradient_bytes / gradients_over);
    set(MemoryPart::kOptimizer, parameters * options.optimizer_bytes / optimizer_over);
    set(MemoryPart::kActivations,
        (saved + (d.pp > 1 ? p.pipeline_layers * one_layer : 0)) * in_flight(d, stage.first, m) +
            p.gathered_inputs * gathered + transient);
    set(MemoryPart::kLogits, logits * p.logits_copies);
    set(MemoryPart::kBuffers,
        (d.zero < 3 ? 0 : (keeps_whole ? parameters : 2 * largest_layer) * options.gather_bytes) +
            parameters * p.buffer_bytes / weights_over);
    set(MemoryPart::kFixed, p.memory_fixed);
    double total = 0;
    for (double part : parts) total += part;
    if (stage.first == 0) worst.first_rank_allocated = total;
    set(MemoryPart::kSlack, total * (p.memory_slack - 1));
    total *= p.memory_slack;
    if (total > worst.total) {
      worst.total = total;
      worst.parts = parts;
      worst.worst_stage = stage.first;
    }
  }
  return worst;
}

}  // namespace nereus::cost
