#include "worker/ops/gelu.hpp"

#include "worker/ops/gelu_loops.hpp"

namespace nereus::worker {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr std::int64_t kGrain = 1 << 14;  // elements a thread is worth being woken for

struct GeluFunction : Function<GeluFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given) {
    const at::Tensor x = given.contiguous();
    context->save_for_backward({x});
    at::Tensor y = at::empty_like(x);
    const float* from = x.data_ptr<float>();
    float* to = y.data_ptr<float>();
    at::parallel_for(0, x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      gelu_forward(from + begin, to + begin, end - begin);
    });
    return y;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::Tensor x = context->get_saved_variables()[0], gy = gradients[0].contiguous();
    at::Tensor gx = at::empty_like(x);
    const float* from = x.data_ptr<float>();
    const float* above = gy.data_ptr<float>();
    float* to = gx.data_ptr<float>();
    at::parallel_for(0, x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      gelu_backward(from + begin, above + begin, to + begin, end - begin);
    });
    return {gx};
  }
};

}  // namespace

at::Tensor gelu_tanh(const at::Tensor& x) {
  if (x.is_cpu() && x.scalar_type() == at::kFloat) return GeluFunction::apply(x);
  return at::gelu(x, "tanh");
}

}  // namespace nereus::worker
