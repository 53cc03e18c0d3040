// Memory of one rank.
//
//   weights, gradients, optimizer   the state that the rank keeps, at the stack's bytes per
//                                   parameter (2 + 4 + 12 by default), sharded as the plan says
//                                   (ZeRO)
//   activations   what backward needs, for each micro-batch in flight (cost/pipeline_time.hpp).
//                 Full recompute keeps each block's input plus the activations of one block (Chen
//                 2016); selective recompute drops the attention scores (Korthikanti 2022) or every
//                 other block
//   logits        fp32 copies and gradient of one micro-batch's logits
//   buffers       all-gathered weights (of two layers, or of all if they are kept for the step),
//                 two layers of offloaded weights, scratch memory of collectives
//   tables        whole tables or parts of them with their optimizer state, pooled gradients until
//                 the update, exchange buffers (cost/embedding.hpp): counted in weights, gradients,
//                 optimizer and buffers
//   fixed, slack  memory that is used before training starts; fragmentation as a share of the total
//
// The offloaded share of activations is in its memory tier, except for two layers in transfer.
// Under a pipeline, ZeRO-2 and -3 keep whole gradients (and gathered weights) until the step ends,
// because every micro-batch needs them.
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

// Bytes of one layer for one micro-batch on one rank, without parameters.
struct LayerMemory {
  double kept = 0;       // until backward
  double block = 0;      // the same, but 0 if the layer is not a block
  double transient = 0;  // while the layer's backward pass runs
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
  // Offloaded bytes, by plan::Tier.
  std::array<double, 4> tiers{};
  double held_weights = 0;  // parameters whose weights the rank keeps, in any memory
  // Number of parameters of sharded weights that are gathered at the same time.
  double gathered = 0;
  double staged = 0;  // bytes of offloaded weights in transfer
  // Bytes of embedding tables on the device (cost/embedding.hpp).
  double table_weights = 0;
  double table_gradients = 0;
  double table_optimizer = 0;
  double table_buffers = 0;

  // Bytes of activations of one micro-batch, summed while layers are added.
  double kept = 0;
  double largest = 0;  // of one layer
  double block = 0;    // of one block
  double gathered_inputs = 0;
  double transient = 0;
  double logits = 0;
  // Bytes of activations at the peak.
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
  // Sets the peak: all layers added so far are held for `in_flight` micro-batches, each with
  // `extra_blocks` more blocks; the share `offload` of the peak is in `tier`.
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
// Bytes that the rank's tensors use, without slack.
double allocated_of(const MemoryParts& parts);

}  // namespace nereus::cost
