// What differs between libtorch 1.13 (Debian, CPUs) and 2.x (wheels with CUDA), in one place; and
// how tensors of a GPU pass through the host.
//
//   DeviceMark ready(tensor);                   // now, on the thread that computes
//   at::Tensor host = to_host(tensor, ready);   // later, on another: after what was started before
#pragma once

#include "worker/torch.hpp"

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

}  // namespace nereus::worker
