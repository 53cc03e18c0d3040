#include "cost/image_kernels.hpp"

#include <algorithm>
#include <cmath>

namespace nereus::cost {

using model::Operator;
using model::OpKind;

bool on_images(const Operator& op) {
  return op.image || op.kind == OpKind::kConvolution || op.kind == OpKind::kPool;
}

OperatorCost convolution_cost(const Operator& op, const KernelModel& model,
                              const LayerSplit& split) {
  OperatorCost cost;
  const double samples = split.samples / split.cp;
  const double m = op.rows * samples;
  const double in_channels = op.k / std::max(1, op.window);
  const double in = (op.input_elements > 0 ? op.input_elements : op.rows * in_channels) * samples;
  cost.parameters = op.parameters;
  cost.flops = 2 * m * op.n * op.k;
  cost.bytes = (in + m * op.n + op.parameters) * model.element;
  // Units without tensor cores: 3 x 3 windows at stride 1 need 2.25 times fewer products (Lavin
  // 2016), of which the transforms take back a third.
  constexpr double kWinograd = 1.5;
  const bool winograd = model.tile_room > 1 && op.window == 9 && in == m * in_channels;
  const double rate = model.gemm_rate * model.convolution * (winograd ? kWinograd : 1);
  const double moved = (in + m * op.n) * model.element + op.n * op.k * model.gemm_element;
  const auto seconds = [&](double rows, double columns, double inner) {
    return matrix_seconds(model, rows, columns, inner, 1, rate, moved, model.image_rate) +
           model.gap;
  };
  cost.forward = seconds(m, op.n, op.k);
  cost.weight_gradient = seconds(op.k, op.n, m);
  const double in_rows = in / in_channels;
  cost.backward = seconds(in_rows, in_channels, m * op.n * op.k / (in_rows * in_channels)) +
                  cost.weight_gradient;
  cost.saved = op.saved_elements * samples * model.element;
  return cost;
}

OperatorCost image_cost(const Operator& op, const KernelModel& model, const LayerSplit& split) {
  OperatorCost cost;
  const double samples = split.samples / split.cp;
  const double written = op.written_elements * samples;
  double forward = (op.read_elements + op.written_elements) * samples;
  double backward = forward;
  if (op.kind == OpKind::kNorm) {
    forward = 3 * written;
    backward = 5 * written;
  } else if (op.kind == OpKind::kElementwise) {
    forward = op.read_elements * samples - written;
    backward = written;
  }
  cost.parameters = op.parameters;
  cost.flops = op.flops * samples;
  cost.bytes = forward * model.element;
  const double pass = model.element * model.image_passes / model.image_rate;
  cost.forward = forward * pass + op.kernels * model.gap;
  cost.backward = backward * pass + op.kernels * model.gap;
  cost.saved = op.saved_elements * samples * model.element + op.saved_bytes * samples;
  return cost;
}

OperatorCost grouped_convolution_cost(const Operator& op, const KernelModel& model,
                                      const LayerSplit& split) {
  OperatorCost cost;
  const double rows = op.rows * split.samples / split.cp;
  const double groups = op.groups, n = op.n / groups;
  cost.parameters = op.parameters;
  cost.flops = op.flops * split.samples / split.cp;
  cost.bytes =
      ((op.read_elements + op.written_elements) * split.samples / split.cp + op.parameters) *
      model.element;
  const double direct =
      std::max(cost.flops / model.vector_rate, cost.bytes / model.memory_rate) + model.gap;
  cost.forward = std::min(direct, gemm_seconds(model, rows, n, op.k, groups, model.gemm_rate));
  cost.weight_gradient =
      std::min(direct, gemm_seconds(model, op.k, n, rows, groups, model.gemm_rate));
  cost.backward = std::min(direct, gemm_seconds(model, rows, op.k, n, groups, model.gemm_rate)) +
                  cost.weight_gradient;
  cost.saved = op.saved_elements * split.samples / split.cp * model.element;
  return cost;
}

}  // namespace nereus::cost
