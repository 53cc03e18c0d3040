// The differences between libtorch 1.13 (Debian, CPUs) and 2.x (wheels with CUDA), in one place;
// and how tensors on a GPU are copied through the host.
//
//   DeviceMark ready(tensor);                   // marks now, on the computing thread
//   at::Tensor host = to_host(tensor, ready);   // later, on another thread: waits for the mark
#pragma once

#include "worker/device/torch.hpp"

#ifdef NEREUS_CUDA
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#endif

namespace nereus::worker {

// A position in the work given to the device: wait() returns when the device has reached it. Does
// nothing on CPUs.
class DeviceMark {
 public:
  explicit DeviceMark(const at::Tensor& tensor);
  void wait() const;

 private:
#ifdef NEREUS_CUDA
  std::shared_ptr<c10::Event> event_;
#endif
};

// A CPU tensor with the same shape: the tensor itself, or pinned memory if it is on a GPU.
at::Tensor host_like(const at::Tensor& tensor);
at::Tensor to_host(const at::Tensor& tensor, const DeviceMark& ready);
void from_host(const at::Tensor& host, at::Tensor tensor);  // complete when it returns

// Scaled dot-product attention of q, k, v [n, heads, s, d], differentiable. libtorch 2.x has fused
// kernels that never write the scores; 1.13 writes and keeps them.
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal);

// x / sqrt(mean(x^2) + epsilon) * weight over the last dim.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

// sum += a b for matrices; `sum` may be wider than the operands. In newer libtorch versions the
// kernel of the product widens the result.
void add_product(at::Tensor sum, const at::Tensor& a, const at::Tensor& b);

// Whether fp32 products and convolutions may round to tf32 (libtorch's default allows it for
// convolutions).
void allow_tf32(bool allowed);

// Chooses which libraries libtorch uses for kernels. Must be called before any computation.
void choose_kernels(const at::Device& device);

// Log softmax over the last dim, computed in fp32 for narrower types.
at::Tensor wide_log_softmax(const at::Tensor& x);

// Frees a tensor's memory, or allocates it again, without changing the tensors that view it.
void set_memory(const at::Tensor& tensor, bool held);

// One AdamW update of lists of flat tensors with libtorch's fused kernel. Returns false, without
// any change, if there is none (CPUs, 1.13).
bool fused_adamw(const std::vector<at::Tensor>& weights, const std::vector<at::Tensor>& gradients,
                 const std::vector<at::Tensor>& first, const std::vector<at::Tensor>& second,
                 double step, double rate, double beta1, double beta2, double decay,
                 double epsilon);

std::string torch_version();  // "1.13.1"

}  // namespace nereus::worker
