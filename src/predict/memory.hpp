// Memory of one rank.
//
//   weights, gradients, optimizer   what the rank keeps of them, at the stack's bytes a parameter
//                                   (2 + 4 + 12 by default), divided as the plan says (ZeRO)
//   activations   for each micro-batch in flight (cost/pipeline_time.hpp) what backward needs; full
//                 recompute keeps each block's input plus one block's own (Chen 2016), selective
//                 recompute drops the attention scores (Korthikanti 2022) or every other block
//   logits        fp32 copies and gradient of one micro-batch's logits
//   buffers       divided weights put together (two layers, or all where they are kept for the
//                 step), two layers of weights that come from beyond, collective scratch
//   tables        whole tables or parts of them with their own optimizer state, pooled gradients
//                 until the update, what is exchanged (cost/embedding.hpp): within weights,
//                 gradients, optimizer and buffers
//   fixed, slack  what is gone before training starts; fragmentation as a share of all
//
// The offloaded share of activations waits in its memory tier, but for two layers that are on their
// way. ZeRO-2 and -3 under a pipeline keep gradients (and gathered weights) whole until the step
// ends: every micro-batch needs them again.
//
// Monotone: all activations are proportional to the samples of a micro-batch.
//
//   RankMemory rank;
//   rank.add(layer_memory(cost, true, Recompute::kFull, options, parameters), 12);
//   rank.keep_activations(in_flight, 0, 0);
//   MemoryParts parts = memory_parts(rank, options, parameters);
#pragma once

#include <algorithm>
#include <array>

#include "cost/layer_cost.hpp"
#include "predict/prediction.hpp"

namespace nereus::cost {

// Bytes of one layer for one micro-batch on one rank; parameters apart.
struct LayerMemory {
  double kept = 0;       // until backward
  double block = 0;      // the same where the layer is a block
  double transient = 0;  // while the layer runs backward
  double gathered = 0;   // whole inputs of split GEMMs
  double logits = 0;
};

LayerMemory layer_memory(const KindCost& kind, bool block, plan::Recompute recompute,
                         const StackOptions& options, const Parameters& parameters);

struct RankMemory {
  // Parameters whose state the rank keeps on its device.
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  // Bytes beyond the device, by plan::Tier.
  std::array<double, 4> tiers{};
  double held_weights = 0;  // parameters, in whatever memory
  double gathered = 0;      // parameters of divided weights put together at once
  double staged = 0;        // bytes of weights on their way from beyond the device
  // Bytes of embedding tables on the device (cost/embedding.hpp).
  double table_weights = 0;
  double table_gradients = 0;
  double table_optimizer = 0;
  double table_buffers = 0;

  // Bytes of activations: of one micro-batch, while layers are added ...
  double kept = 0;
  double largest = 0;  // of one layer
  double block = 0;    // of one block
  double gathered_inputs = 0;
  double transient = 0;
  double logits = 0;
  // ... and at the peak.
  double at_peak = 0;
  double offloaded = 0;
  double on_the_way = 0;

  void add(const LayerMemory& layer, double count) {
    kept += count * layer.kept;
    largest = std::max(largest, layer.kept);
    block = std::max(block, layer.block);
    transient = std::max(transient, layer.transient);
    gathered_inputs += count * layer.gathered;
    logits += count * layer.logits;
  }
  // All layers added so far are held for `in_flight` micro-batches, with `extra_blocks` more blocks
  // each, `offload` of it in that tier.
  void keep_activations(double in_flight, double extra_blocks, double offload,
                        plan::Tier tier = plan::Tier::kHost) {
    at_peak = (kept + extra_blocks * block) * in_flight;
    offloaded = offload * at_peak;
    on_the_way = std::min(offloaded, offload * 2 * largest);
    tiers[static_cast<std::size_t>(tier)] += offloaded;
  }
};

MemoryParts memory_parts(const RankMemory& rank, const StackOptions& options,
                         const Parameters& parameters);
double total_of(const MemoryParts& parts);
// What the rank's tensors take, without slack.
double allocated_of(const MemoryParts& parts);

}  // namespace nereus::cost
