// The communication of tensor-parallel ranks: the conjugate pairs of Megatron-LM (Shoeybi 2019,
// 1909.08053) and of its sequence parallelism (Korthikanti 2022, 2205.05198).
//
//                    plain                          sequence parallel
//   enter_region     forward: nothing               all-gather of the sequence's slices
//                    backward: all-reduce           reduce-scatter
//   leave_region     forward: all-reduce            reduce-scatter
//                    backward: nothing              all-gather
//
// Tensors are [n, s, h]; outside regions, a sequence-parallel rank holds [n, s / tp, h]. Without a
// team, both functions return their input.
#pragma once

#include "worker/ops/layer.hpp"

namespace nereus::worker {

at::Tensor enter_region(const at::Tensor& x, PassContext& pass);
at::Tensor leave_region(const at::Tensor& x, PassContext& pass);

// The part of a sequence that this rank holds outside regions.
at::Tensor own_part_of_sequence(const at::Tensor& x, const PassContext& pass);

// Sum of the cross entropies of all targets, times pass.loss_scale. `logits` is [rows, classes of
// this rank's slice, possibly padded with minus infinity]; `targets` is [rows].
at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& targets, const Range& classes,
                         PassContext& pass);

// Dropout: zeroes a share pass.dropout of x [n, s, h] and scales the rest. `site` distinguishes the
// calls in one layer. The mask depends only on (seed, step, sample, layer, site).
at::Tensor drop(const at::Tensor& x, int layer, int site, const PassContext& pass);

}  // namespace nereus::worker
