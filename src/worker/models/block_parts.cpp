#include "worker/models/block_parts.hpp"

#include "worker/ops/team.hpp"

namespace nereus::worker {

at::Tensor layer_norm(const at::Tensor& x, const Weights& weights, int weight, double epsilon) {
  const auto at = static_cast<std::size_t>(weight);
  return at::layer_norm(x, {x.size(-1)}, weights.values[at], weights.values[at + 1], epsilon);
}

at::Tensor learned_positions(const Weights& weights, int table, const PassContext& pass) {
  const at::Tensor& all = weights.values[static_cast<std::size_t>(table)];
  return own_part_of_sequence(all.narrow(0, 0, pass.batch.inputs.size(1)).unsqueeze(0), pass);
}

at::Tensor project_out(const at::Tensor& x, const Weights& weights, int weight, WeightLayout layout,
                       PassContext& pass) {
  if (pass.tensor_size() == 1) return linear(x, weights, weight, weight + 1, layout, pass);
  return leave_region(linear(x, weights, weight, -1, layout, pass), pass) +
         weights.values[static_cast<std::size_t>(weight) + 1];
}

}  // namespace nereus::worker
