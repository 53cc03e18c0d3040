// Encoder and decoder (T5, Raffel 2020, 1910.10683): the blocks of the encoder see every token of
// the source; those of the decoder see the target so far, and then the encoder's output:
//   cross attention  q of the target, k and v of the source, 2 s_t s a (d + d_v) FLOPs forward
// Layers are a chain: the encoder's output travels with the target through the decoder's stages, as
// in Megatron-LM. The target's tokens are looked up in the first block of the decoder, in the table
// of the first layer, of which that stage has a copy in a pipeline.
#include "model/transformer_parts.hpp"

namespace nereus::model {

namespace {

constexpr double kBuckets = 32;  // distances that have a bias of their own, as in every T5

void add_position_bias(LayerKind& layer, const TransformerShape& shape, const SampleDims& x) {
  if (shape.position != PositionKind::kRelative) return;
  Operator bias = elementwise("position_bias", Split::kHeads, x.s, x.a * x.s, 1, 3);
  bias.parameters = kBuckets * x.a;
  layer.operators.push_back(bias);
}

void add_cross_attention(LayerKind& layer, const TransformerShape& shape, const SampleDims& source,
                         const SampleDims& target, bool first) {
  auto& ops = layer.operators;
  const SampleDims& y = target;
  ops.push_back(norm("cross_norm", y.s, y.h, shape));
  ops.push_back(gemm("cross_q", Split::kColumn, y.s, y.a * y.d, y.h, shape.bias));
  Operator kv = gemm("cross_kv", Split::kColumn, source.s, y.g * (y.d + y.dv), y.h, shape.bias);
  if (!first) kv.saved_elements = 0;  // all blocks read the same output of the encoder
  ops.push_back(kv);
  Operator op;
  op.name = "cross_attention";
  op.kind = OpKind::kAttention;
  op.split = Split::kHeads;
  op.rows = y.s;
  op.heads = shape.heads;
  op.kv_heads = shape.kv_heads;
  op.head_dim = y.d;
  op.value_head_dim = y.dv;
  op.keys = source.s;
  op.n = y.a * y.dv;
  op.flops = 2 * y.s * source.s * y.a * (y.d + y.dv);
  op.read_elements = y.s * y.a * y.d + source.s * y.g * (y.d + y.dv);
  op.written_elements = y.s * y.a * y.dv;
  op.saved_elements = op.read_elements;
  op.saved_bytes = 4 * y.s * y.a;
  op.kernels = 5;
  ops.push_back(op);
  ops.push_back(gemm("cross_output", Split::kRow, y.s, y.h, y.a * y.dv, shape.bias));
  ops.push_back(residual("cross_residual", shape, y));
  layer.tensor_regions.push_back({y.s * y.h});
}

LayerKind stack_block(const TransformerShape& shape, const SampleDims& source,
                      const SampleDims* target, bool first) {
  const SampleDims& x = target != nullptr ? *target : source;
  LayerKind layer;
  layer.role = LayerRole::kBlock;
  layer.name = std::string(first ? "first_" : "") + (target ? "decoder_block" : "encoder_block");
  layer.mixers = target ? 3 : 2;
  const double passed = source.s * x.h + (target ? x.s * x.h : 0);
  layer.output_elements = passed;
  layer.input_elements = target && first ? source.s * x.h : passed;
  auto& ops = layer.operators;
  if (target && first) {
    ops.push_back(norm("encoder_norm", source.s, x.h, shape));
    Operator lookup = token_embedding(x);
    lookup.name = "target_embedding";
    lookup.parameters = 0;
    ops.push_back(lookup);
    layer.tensor_regions.push_back({x.s * x.h});
  }
  if (first) add_position_bias(layer, shape, x);
  TransformerShape masked = shape;
  masked.causal = target != nullptr;
  ops.push_back(norm("attention_norm", x.s, x.h, shape));
  add_attention(layer, masked, x, Reach::kAll);
  ops.push_back(residual("attention_residual", shape, x));
  if (target) add_cross_attention(layer, shape, source, x, first);
  ops.push_back(norm("mlp_norm", x.s, x.h, shape));
  add_mlp(layer, shape, x, x.f, "");
  layer.tensor_regions.push_back({x.s * x.h});
  ops.push_back(residual("mlp_residual", shape, x));
  return layer;
}

}  // namespace

void add_stacks(Model& model, const TransformerShape& shape, const SampleDims& source,
                const SampleDims& target) {
  const auto add = [&](const SampleDims* decoder, int layers) {
    for (int i = 0; i < layers; ++i) {
      if (i < 2) model.kinds.push_back(stack_block(shape, source, decoder, i == 0));
      model.layers.push_back(static_cast<int>(model.kinds.size()) - 1);
    }
  };
  add(nullptr, shape.layers);
  add(&target, shape.decoder_layers);
}

}  // namespace nereus::model
