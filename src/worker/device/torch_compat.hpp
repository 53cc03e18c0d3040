// What differs between libtorch 1.13 (Debian, CPUs) and 2.x (wheels with CUDA), in one place; and
// how tensors of a GPU pass through the host.
//
//   DeviceMark ready(tensor);                   // now, on the thread that computes
//   at::Tensor host = to_host(tensor, ready);   // later, on another: after what was started before
#pragma once

#include "worker/device/torch.hpp"

#ifdef NEREUS_CUDA
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#endif

namespace nereus::worker {

// A place in the work that the device was given: wait() returns when it got there. Nothing for
// CPUs.
class DeviceMark {
 public:
  explicit DeviceMark(const at::Tensor& tensor);
  void wait() const;

 private:
#ifdef NEREUS_CUDA
  std::shared_ptr<c10::Event> event_;
#endif
};

// A tensor of the CPU with the same shape: itself, or pinned memory for one of a GPU.
at::Tensor host_like(const at::Tensor& tensor);
at::Tensor to_host(const at::Tensor& tensor, const DeviceMark& ready);
void from_host(const at::Tensor& host, at::Tensor tensor);  // done when it returns

// Scaled dot-product attention of q, k, v [n, heads, s, d], differentiable. 2.x has fused kernels
// that never write the scores; 1.13 writes and keeps them.
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal);

// x / sqrt(mean(x^2) + epsilon) * weight over the last dim.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

// sum += a b for matrices, whatever width the sum is kept in; newer libtorch lets the product's own
// kernel widen it.
void add_product(at::Tensor sum, const at::Tensor& a, const at::Tensor& b);

// Whether fp32 products and convolutions may be rounded to tf32 on their way (libtorch lets
// convolutions by default).
void allow_tf32(bool allowed);

// Before anything is computed: which of libtorch's libraries do it.
void choose_kernels(const at::Device& device);

// log softmax over the last dim, in fp32 for narrower types.
at::Tensor wide_log_softmax(const at::Tensor& x);

// Gives a tensor's memory back, or takes it anew, without touching the tensors that view it.
void set_memory(const at::Tensor& tensor, bool held);

// One AdamW update of lists of flat tensors by libtorch's fused kernel; false where there is none
// (CPUs, 1.13): nothing was done.
bool fused_adamw(const std::vector<at::Tensor>& weights, const std::vector<at::Tensor>& gradients,
                 const std::vector<at::Tensor>& first, const std::vector<at::Tensor>& second,
                 double step, double rate, double beta1, double beta2, double decay,
                 double epsilon);

std::string torch_version();  // "1.13.1"

}  // namespace nereus::worker
