// Our GPU kernels (worker/ops/gpu_rtc.hpp), for operations in which libtorch reads memory too
// often.
//
//   cross entropy   libtorch: five passes over rows x classes in fp32. Here: one pass that reads
//                   and one that reads and writes, in the type of the logits; sums in fp32.
//   column sums     gradients of biases, and of a LayerNorm's scale and shift: sums over blocks of
//                   rows, then over blocks; the same order every time.
//   rows of a table gradients of an embedding: sorted by row; entries with the same id are summed
//                   and added to the row in fp32. libtorch makes a table of zeros and adds all its
//                   rows, and for up to 3,072 rows uses a kernel that visits them one by one. The
//                   order of the sum is fixed, unlike in index_add_.
//
// Each function returns false, without any change, if it is not available (a CPU, fp64, no NVRTC).
#pragma once

#include "worker/device/torch.hpp"

namespace nereus::worker {

// losses[r] = log_sums[r] - logits[r, targets[r]], log_sums[r] = log sum of exp(logits[r, :]).
bool gpu_cross_entropy(const at::Tensor& logits, const at::Tensor& targets, at::Tensor& losses,
                       at::Tensor& log_sums);
// gradient[r, c] = (exp(logits[r, c] - log_sums[r]) - [c is the target]) scale, where `scale` is a
// GPU tensor with one fp32 element.
bool gpu_cross_entropy_gradient(const at::Tensor& logits, const at::Tensor& targets,
                                const at::Tensor& log_sums, const at::Tensor& scale,
                                at::Tensor& gradient);

// sum[c] += sum over r of rows[r, c]; rows are bf16, the sum is fp32.
bool gpu_add_column_sums(at::Tensor sum, const at::Tensor& rows);
// scale[c] += sum of gy (x - mean[r]) rstd[r], shift[c] += sum of gy; gy and x are [r, c] in bf16.
bool gpu_add_norm_sums(at::Tensor scale, at::Tensor shift, const at::Tensor& gy,
                       const at::Tensor& x, const at::Tensor& mean, const at::Tensor& rstd);
// table[ids[r], :] += rows[r, :]; rows are bf16 or fp32, the table is fp32.
bool gpu_add_rows(at::Tensor table, const at::Tensor& ids, const at::Tensor& rows);

}  // namespace nereus::worker
