// Attention over the heads of this rank, and operations on queries and keys before it.
#pragma once

#include "worker/ops/layer.hpp"

namespace nereus::worker {

// [n, s, heads d] -> [n, heads, s, d]
at::Tensor split_heads(const at::Tensor& x, std::int64_t num_heads);
// The inverse.
at::Tensor join_heads(const at::Tensor& x);

// Like attention() in torch_compat.hpp; under selective recompute the scores are computed again in
// the backward pass.
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                  const PassContext& pass);

// Rotary positions (Su 2021, 2104.09864) in Hugging Face's order: the two halves of a head are the
// real and imaginary parts.
at::Tensor rotate(const at::Tensor& x, double theta);

}  // namespace nereus::worker
