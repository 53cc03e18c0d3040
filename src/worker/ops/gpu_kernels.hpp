// A GPU's kernels of our own (worker/ops/gpu_rtc.hpp), where libtorch's pass over memory too often.
//
//   cross entropy   libtorch: five passes over rows x classes in fp32. Here: one that reads, and
//                   one that reads and writes, in the logits' own width; sums in fp32.
//   column sums     gradients of biases, and of a LayerNorm's scale and shift: blocks of rows, then
//                   their sums; the same order every time.
//   rows of a table gradients of an embedding: sorted by where they go, runs of one id summed and
//                   added to its row in fp32. libtorch: a table of zeros, all rows of it added, and
//                   for up to 3,072 rows one kernel that looks at them one by one. The order is
//                   the same every time; index_add_'s is not.
//
// Each says false where it does not apply (a CPU, fp64, no NVRTC): nothing was done then.
#pragma once

#include "worker/device/torch.hpp"

namespace nereus::worker {

// losses[r] = log_sums[r] - logits[r, targets[r]], log_sums[r] = log sum of exp(logits[r, :]).
bool gpu_cross_entropy(const at::Tensor& logits, const at::Tensor& targets, at::Tensor& losses,
                       at::Tensor& log_sums);
// gradient[r, c] = (exp(logits[r, c] - log_sums[r]) - [c is the target]) scale, scale a tensor of
// one fp32 element on the GPU.
bool gpu_cross_entropy_gradient(const at::Tensor& logits, const at::Tensor& targets,
                                const at::Tensor& log_sums, const at::Tensor& scale,
                                at::Tensor& gradient);

// sum[c] += sum over r of rows[r, c]; rows bf16, sum fp32.
bool gpu_add_column_sums(at::Tensor sum, const at::Tensor& rows);
// scale[c] += sum of gy (x - mean[r]) rstd[r], shift[c] += sum of gy; gy and x [r, c] bf16.
bool gpu_add_norm_sums(at::Tensor scale, at::Tensor shift, const at::Tensor& gy,
                       const at::Tensor& x, const at::Tensor& mean, const at::Tensor& rstd);
// table[ids[r], :] += rows[r, :]; rows bf16 or fp32, table fp32.
bool gpu_add_rows(at::Tensor table, const at::Tensor& ids, const at::Tensor& rows);

}  // namespace nereus::worker
