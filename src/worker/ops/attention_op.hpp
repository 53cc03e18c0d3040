// Attention over heads that this rank holds, and what happens to queries and keys before.
#pragma once

#include "worker/ops/layer.hpp"

namespace nereus::worker {

// [n, s, heads d] -> [n, heads, s, d]
at::Tensor split_heads(const at::Tensor& x, std::int64_t num_heads);
// and back.
at::Tensor join_heads(const at::Tensor& x);

// As torch_compat's, or with its scores computed again in the backward pass (selective recompute).
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                  const PassContext& pass);

// Rotary positions (Su 2021, 2104.09864) in Hugging Face's order: the two halves of a head are the
// parts of the complex numbers.
at::Tensor rotate(const at::Tensor& x, double theta);

}  // namespace nereus::worker
