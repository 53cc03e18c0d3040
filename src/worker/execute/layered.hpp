// Layered gradient accumulation (Cephalo, ICS 2025): all micro-batches pass a layer before the next
// one, forward and then, from the last layer, backward. So sharded weights are gathered once per
// pass and gradients are reduced once per step, for any number of micro-batches:
//
//   bytes per step = (2 gathers + 1 reduction) of the weights,
//   instead of 2 n gathers with n micro-batches
//
// The gather of the next layer's weights overlaps with the computation of the current layer,
// forward and backward: the weights of two layers are in memory at a time. The model's last layer
// runs forward and backward together, micro-batch by micro-batch: it is gathered once, and holds
// the scores of only one micro-batch.
//
// Ranks that compute and ranks that only store walk through the layers in the same way, so that all
// start a stage's collectives in the same order.
//
//   walk_forward(stage, [&](int place) { for (m ...) stage.forward_layer(records[m], place); });
//   walk_backward(stage, [&](int place) { for (m ...) stage.backward_layer(records[m], place); });
#pragma once

#include <functional>

#include "worker/execute/stage.hpp"

namespace nereus::worker {

// Calls `compute(place)` with the layer's weights gathered, for all layers except the model's last.
void walk_forward(const Stage& stage, const std::function<void(int place)>& compute);
// The gradient reduction of a layer starts when compute(place) returns; the gradient reduction of
// tied weights waits for the end of all passes.
void walk_backward(const Stage& stage, const std::function<void(int place)>& compute);

}  // namespace nereus::worker
