#include "worker/device/torch_compat.hpp"

#include <torch/version.h>

#include <cmath>
#include <limits>

#define NEREUS_TORCH_2 (TORCH_VERSION_MAJOR >= 2)
// Products of narrow matrices with wide results, on GPUs.
#define NEREUS_WIDE_PRODUCTS (TORCH_VERSION_MAJOR * 100 + TORCH_VERSION_MINOR >= 208)

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

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal) {
#if NEREUS_TORCH_2
  return at::scaled_dot_product_attention(q, k, v, {}, 0.0, causal);
#else
  at::Tensor scores =
      at::matmul(q * (1 / std::sqrt(static_cast<double>(q.size(-1)))), k.transpose(-2, -1));
  if (causal) {
    const at::Tensor above =
        at::ones({q.size(-2), k.size(-2)}, q.options().dtype(at::kBool)).triu_(1);
    scores.masked_fill_(above, -std::numeric_limits<double>::infinity());
  }
  return at::matmul(at::softmax(scores, -1), v);
#endif
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
#if NEREUS_TORCH_2
  return at::rms_norm(x, {x.size(-1)}, weight, epsilon);
#else
  const bool narrow = x.scalar_type() == at::kBFloat16 || x.scalar_type() == at::kHalf;
  const at::Tensor wide = narrow ? x.to(at::kFloat) : x;
  const at::Tensor scale = at::rsqrt(wide.square().mean({-1}, true) + epsilon);
  return (wide * scale).to(x.scalar_type()) * weight;
#endif
}

void add_product(at::Tensor sum, const at::Tensor& a, const at::Tensor& b) {
  if (sum.scalar_type() == a.scalar_type()) {
    sum.addmm_(a, b);
    return;
  }
#if NEREUS_WIDE_PRODUCTS
  if (sum.is_cuda() && sum.scalar_type() == at::kFloat) {
    at::addmm_out(sum, sum, a, b, at::kFloat);
    return;
  }
#endif
  sum.add_(at::mm(a, b));
}

void allow_tf32(bool allowed) {
  at::globalContext().setAllowTF32CuBLAS(allowed);
  at::globalContext().setAllowTF32CuDNN(allowed);
}

at::Tensor wide_log_softmax(const at::Tensor& x) {
  const bool narrow = x.scalar_type() == at::kBFloat16 || x.scalar_type() == at::kHalf;
#if NEREUS_TORCH_2
  if (x.scalar_type() == at::kHalf && x.is_cuda())
    return at::_log_softmax(x, -1, /*half_to_float=*/true);
#endif
  return at::log_softmax(narrow ? x.to(at::kFloat) : x, -1);
}

void set_memory(const at::Tensor& tensor, bool held) {
  const std::size_t bytes =
      held ? static_cast<std::size_t>(tensor.numel()) * tensor.element_size() : 0;
  c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
  if (storage->nbytes() == bytes) return;
  storage->set_data_ptr_noswap(bytes > 0 ? storage->allocator()->allocate(bytes)
                                         : at::DataPtr(nullptr, tensor.device()));
  storage->set_nbytes(bytes);
}

bool fused_adamw(const std::vector<at::Tensor>& weights, const std::vector<at::Tensor>& gradients,
                 const std::vector<at::Tensor>& first, const std::vector<at::Tensor>& second,
                 double step, double rate, double beta1, double beta2, double decay,
                 double epsilon) {
#if NEREUS_TORCH_2
  if (weights.empty() || !weights[0].is_cuda()) return false;
  const std::vector<at::Tensor> steps(weights.size(),
                                      at::full({}, step, weights[0].options().dtype(at::kFloat)));
  at::_fused_adamw_(weights, gradients, first, second, {}, steps, rate, beta1, beta2, decay,
                    epsilon, /*amsgrad=*/false, /*maximize=*/false);
  return true;
#else
  (void)weights, (void)gradients, (void)first, (void)second, (void)step, (void)rate;
  (void)beta1, (void)beta2, (void)decay, (void)epsilon;
  return false;
#endif
}

void choose_kernels([[maybe_unused]] const at::Device& device) {
#ifdef __aarch64__
  // Debian's oneDNN has no vector kernels for arm64 (attention's products take three times as long
  // as in OpenBLAS), and no bf16 products, which only fails when one is used.
  if (device.is_cpu()) at::globalContext().setUserEnabledMkldnn(false);
#endif
}

std::string torch_version() { return TORCH_VERSION; }

}  // namespace nereus::worker
