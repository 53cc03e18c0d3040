#include "worker/models/block_parts.hpp"

#include "worker/ops/gpu_kernels.hpp"
#include "worker/ops/team.hpp"

namespace nereus::worker {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// LayerNorm whose scale and shift gradients are summed by a kernel of our own.
struct GpuNormFunction : Function<GpuNormFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& scale,
                            const at::Tensor& shift, const at::Tensor& scale_gradient,
                            const at::Tensor& shift_gradient, double epsilon) {
    const auto [y, mean, rstd] = at::native_layer_norm(x, {x.size(-1)}, scale, shift, epsilon);
    context->save_for_backward({x, mean, rstd, scale, shift});
    context->saved_data["scale"] = scale_gradient;
    context->saved_data["shift"] = shift_gradient;
    return y;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor gy = gradients[0].contiguous();
    at::Tensor scale = context->saved_data["scale"].toTensor();
    at::Tensor shift = context->saved_data["shift"].toTensor();
    const std::int64_t width = x.size(-1);
    const bool summed =
        gpu_add_norm_sums(scale, shift, gy.view({-1, width}), x.reshape({-1, width}),
                          saved[1].reshape({-1}), saved[2].reshape({-1}));
    const auto [gx, more_scale, more_shift] = at::native_layer_norm_backward(
        gy, x, {width}, saved[1], saved[2], saved[3], saved[4], {true, !summed, !summed});
    if (!summed) {
      scale.add_(more_scale);
      shift.add_(more_shift);
    }
    return {gx, {}, {}, {}, {}, {}};
  }
};

}  // namespace

at::Tensor layer_norm(const at::Tensor& x, const Weights& weights, int weight, double epsilon) {
  const auto at = static_cast<std::size_t>(weight);
  if (x.is_cuda() && x.scalar_type() == at::kBFloat16)
    return GpuNormFunction::apply(x, weights.values[at], weights.values[at + 1],
                                  weights.gradients[at], weights.gradients[at + 1], epsilon);
  return at::layer_norm(x, {x.size(-1)}, weights.values[at], weights.values[at + 1], epsilon);
}

at::Tensor learned_positions(const Weights& weights, int table, const PassContext& pass) {
  const at::Tensor& all = weights.values[table];
  return own_part_of_sequence(all.narrow(0, 0, pass.batch.inputs.size(1)).unsqueeze(0), pass);
}

at::Tensor project_out(const at::Tensor& x, const Weights& weights, int weight, WeightLayout layout,
                       PassContext& pass) {
  if (pass.tensor_size() == 1) return linear(x, weights, weight, weight + 1, layout, pass);
  return leave_region(linear(x, weights, weight, -1, layout, pass), pass) +
         weights.values[static_cast<std::size_t>(weight) + 1];
}

}  // namespace nereus::worker
