#include "worker/torch_compat.hpp"

namespace nereus::worker {

#ifdef NEREUS_CUDA
DeviceMark::DeviceMark(const at::Tensor& tensor) {
  if (!tensor.is_cuda()) return;
  const c10::impl::VirtualGuardImpl device(tensor.device().type());
  event_ = std::make_shared<c10::Event>(tensor.device().type());
  event_->record(device.getStream(tensor.device()));
}

void DeviceMark::wait() const {
  if (event_) event_->synchronize();
}
#else
DeviceMark::DeviceMark(const at::Tensor&) {}
void DeviceMark::wait() const {}
#endif

at::Tensor host_like(const at::Tensor& tensor) {
  if (!tensor.is_cuda()) return tensor;
  return at::empty(tensor.sizes(),
                   at::TensorOptions(at::kCPU).dtype(tensor.scalar_type()).pinned_memory(true));
}

at::Tensor to_host(const at::Tensor& tensor, const DeviceMark& ready) {
  at::Tensor host = host_like(tensor);
  if (tensor.is_cuda()) {
    ready.wait();
    const at::NoGradGuard no_grad;
    host.copy_(tensor);
  }
  return host;
}

void from_host(const at::Tensor& host, at::Tensor tensor) {
  if (!tensor.is_cuda()) return;
  const at::NoGradGuard no_grad;
  tensor.copy_(host);
}

}  // namespace nereus::worker
