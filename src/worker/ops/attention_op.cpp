#include "worker/ops/attention_op.hpp"

#include <cmath>

#include "worker/device/torch_compat.hpp"

namespace nereus::worker {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

struct RecomputedAttention : Function<RecomputedAttention> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, bool causal) {
    context->save_for_backward({q, k, v});
    context->saved_data["causal"] = causal;
    return attention(q, k, v, causal);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list inputs;
    for (const at::Tensor& saved : context->get_saved_variables())
      inputs.push_back(saved.detach().requires_grad_());
    at::Tensor y;
    {
      const at::AutoGradMode with_gradients(true);
      y = attention(inputs[0], inputs[1], inputs[2], context->saved_data["causal"].toBool());
    }
    variable_list out = torch::autograd::grad({y}, inputs, {gradients[0]});
    out.emplace_back();
    return out;
  }
};

}  // namespace

at::Tensor split_heads(const at::Tensor& x, std::int64_t num_heads) {
  return x.view({x.size(0), x.size(1), num_heads, x.size(2) / num_heads}).transpose(1, 2);
}

at::Tensor join_heads(const at::Tensor& x) {
  return x.transpose(1, 2).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)});
}

at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                  const PassContext& pass) {
  if (pass.recompute_attention && at::GradMode::is_enabled())
    return RecomputedAttention::apply(q, k, v, causal);
  return attention(q, k, v, causal);
}

at::Tensor rotate(const at::Tensor& x, double theta) {
  const std::int64_t length = x.size(-2), half = x.size(-1) / 2;
  // At least fp32: angles of late positions need more bits than bf16 has.
  const at::ScalarType type = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::TensorOptions options = x.options().dtype(type);
  const at::Tensor frequencies =
      at::exp(at::arange(half, options) * (-std::log(theta) / static_cast<double>(half)));
  const at::Tensor angles = at::arange(length, options).unsqueeze(-1) * frequencies;
  const at::Tensor cosine = angles.cos(), sine = angles.sin();
  const at::Tensor a = x.narrow(-1, 0, half), b = x.narrow(-1, half, half);
  return at::cat({a * cosine - b * sine, b * cosine + a * sine}, -1).to(x.scalar_type());
}

}  // namespace nereus::worker
