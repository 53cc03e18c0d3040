#include "model/transformer_parts.hpp"

namespace nereus::model {

void add_experts(LayerKind& layer, const TransformerShape& shape, const SampleDims& x) {
  auto& ops = layer.operators;
  Operator gate = on_own_rows(gemm("router", Split::kReplicated, x.s, shape.experts, x.h, false));
  gate.full_width = true;
  ops.push_back(gate);
  Operator choose = on_own_rows(elementwise("top_k", Split::kReplicated, x.s, shape.experts, 1, 6));
  choose.kind = OpKind::kRouter;
  choose.saved_elements = x.s * shape.experts;
  ops.push_back(choose);

  const bool latent = shape.expert_latent > 0;
  const double width = latent ? shape.expert_latent : x.h;
  if (latent) {
    ops.push_back(on_own_rows(gemm("latent_down", Split::kReplicated, x.s, width, x.h, false)));
  }
  const double rows = x.s * shape.top_k;
  const double ffn = shape.expert_ffn;
  const double up = ffn * (shape.gated_mlp ? 2 : 1);
  const auto make_expert = [&](Operator op) {
    op.inside = op.split;
    op.split = Split::kExperts;
    op.batch = shape.experts;
    if (op.kind == OpKind::kGemm) op.parameters *= shape.experts;
    return op;
  };
  Operator permute = elementwise("permute", Split::kExperts, rows, width, 1, 4);
  permute.batch = shape.experts;
  permute.saved_elements = rows * width;
  ops.push_back(permute);
  Operator up_op = make_expert(gemm("expert_up", Split::kColumn, rows, up, width, shape.bias));
  up_op.saved_elements = 0;  // its input is the permuted tokens, counted there
  up_op.gated = shape.gated_mlp;
  ops.push_back(up_op);
  // Grouped GEMMs have no epilogue that adds each expert's own bias.
  const auto add_bias = [&](const char* name, double n, Split split) {
    if (shape.bias) ops.push_back(make_expert(elementwise(name, split, rows, n, 1, 1)));
  };
  add_bias("expert_up_bias", up, Split::kFeatures);
  // Gated experts can be fused with both products in one kernel. With biases and clamps (GPT-OSS),
  // no fused activation exists: clamp, sigmoid, product and sum each pass over memory.
  const bool stepwise = shape.gated_mlp && shape.bias;
  Operator act = make_expert(elementwise("expert_activation", Split::kFeatures, rows, ffn,
                                         stepwise          ? 8
                                         : shape.gated_mlp ? 2
                                                           : 1,
                                         shape.gated_mlp ? 2 : 1));
  act.saved_elements = rows * up;
  act.gated = shape.gated_mlp;
  ops.push_back(act);
  Operator down = make_expert(gemm("expert_down", Split::kRow, rows, width, ffn, shape.bias));
  down.gated = shape.gated_mlp;
  ops.push_back(down);
  add_bias("expert_down_bias", width, Split::kReplicated);
  Operator combine = elementwise("combine", Split::kExperts, rows, width, 1, 4);
  combine.batch = shape.experts;
  combine.saved_elements = rows * width;
  ops.push_back(combine);
  layer.expert_regions.push_back({rows * width, static_cast<double>(shape.top_k)});
  if (latent) {
    ops.push_back(on_own_rows(gemm("latent_up", Split::kReplicated, x.s, x.h, width, false)));
  }

  if (shape.shared_experts > 0) {
    const double shared = static_cast<double>(shape.shared_expert_ffn > 0 ? shape.shared_expert_ffn
                                                                          : shape.expert_ffn) *
                          shape.shared_experts;
    add_mlp(layer, shape, x, shared, "shared_");
    layer.tensor_regions.push_back({x.s * x.h});
  }
}

}  // namespace nereus::model
