// Layered gradient accumulation (Cephalo, ICS 2025): all micro-batches pass a layer before the next
// one, forward and, from the last, backward. So divided weights are gathered once a pass and
// gradients reduced once a step, however many micro-batches there are:
//
//   bytes a step = (2 gathers + 1 reduction) of the weights; layer by layer, 2 n gathers otherwise
//
// The next layer's weights travel beside the running layer, in both directions: two layers' weights
// are there at a time. The model's last layer runs forward and backward at once, micro-batch by
// micro-batch: it is gathered once, and holds the scores of one micro-batch.
//
// Those who compute and those who only store walk alike, so that everybody starts a stage's
// collectives in the same order.
//
//   walk_forward(stage, [&](int place) { for (m ...) stage.forward_layer(records[m], place); });
//   walk_backward(stage, [&](int place) { for (m ...) stage.backward_layer(records[m], place); });
#pragma once

#include <functional>

#include "worker/execute/stage.hpp"

namespace nereus::worker {

// `compute(place)`: with the layer's weights together. The model's last layer is left out.
void walk_forward(const Stage& stage, const std::function<void(int place)>& compute);
// Gradients of a layer begin to travel when compute(place) returns; tied ones wait for the end of
// all passes.
void walk_backward(const Stage& stage, const std::function<void(int place)>& compute);

}  // namespace nereus::worker
