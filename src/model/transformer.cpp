#include "model/transformer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "model/model.hpp"

namespace nereus::model {

namespace {

// Dimensions of one sample as doubles, so that products of five of them cannot overflow.
struct Dims {
  double s, h, a, g, d, dv, f, v;
};

Operator gemm(std::string name, Split split, double rows, double n, double k, bool bias) {
  Operator op;
  op.name = std::move(name);
  op.kind = OpKind::kGemm;
  op.split = split;
  op.rows = rows;
  op.n = n;
  op.k = k;
  op.parameters = n * k + (bias ? n : 0);
  op.flops = 2 * rows * n * k;
  op.read_elements = rows * k;
  op.written_elements = rows * n;
  op.saved_elements = rows * k;
  return op;
}

Operator norm(std::string name, double rows, double n, const TransformerShape& shape) {
  Operator op;
  op.name = std::move(name);
  op.kind = OpKind::kNorm;
  op.rows_divide = true;
  op.rows = rows;
  op.n = n;
  op.parameters = n * (shape.norm == NormKind::kLayerNorm && shape.bias ? 2 : 1);
  op.flops = 5 * rows * n;
  op.read_elements = rows * n;
  op.written_elements = rows * n;
  op.saved_elements = rows * n;
  return op;
}

Operator elementwise(std::string name, Split split, double rows, double n, double reads,
                     int kernels) {
  Operator op;
  op.name = std::move(name);
  op.kind = OpKind::kElementwise;
  op.split = split;
  op.rows = rows;
  op.n = n;
  op.flops = rows * n * (reads + 1);
  op.read_elements = rows * n * reads;
  op.written_elements = rows * n;
  op.kernels = kernels;
  return op;
}

Operator residual(std::string name, const Dims& x) {
  Operator op = elementwise(std::move(name), Split::kReplicated, x.s, x.h, 2, 1);
  op.rows_divide = true;
  return op;
}

void add_attention(LayerKind& layer, const TransformerShape& shape, const Dims& x) {
  auto& ops = layer.operators;
  const bool latent = shape.kv_lora > 0;
  const double rope = shape.rope_head_dim;
  if (latent) {
    // DeepSeek-V2 (2405.04434): queries and key-values go through low-rank products; the rotary
    // part of the key is shared by all heads.
    const double q_rank = shape.q_lora;
    const double kv_rank = shape.kv_lora;
    if (q_rank > 0) {
      ops.push_back(gemm("q_down", Split::kReplicated, x.s, q_rank, x.h, false));
      ops.push_back(norm("q_norm", x.s, q_rank, shape));
      ops.push_back(gemm("q_up", Split::kColumn, x.s, x.a * (x.d + rope), q_rank, false));
    } else {
      ops.push_back(gemm("q", Split::kColumn, x.s, x.a * (x.d + rope), x.h, false));
    }
    ops.push_back(gemm("kv_down", Split::kReplicated, x.s, kv_rank + rope, x.h, false));
    ops.push_back(norm("kv_norm", x.s, kv_rank, shape));
    ops.push_back(gemm("kv_up", Split::kColumn, x.s, x.a * (x.d + x.dv), kv_rank, false));
  } else {
    ops.push_back(gemm("qkv", Split::kColumn, x.s, (x.a + 2 * x.g) * x.d, x.h, shape.bias));
  }
  if (shape.qk_norm) {
    Operator op = norm("qk_norm", x.s, (x.a + x.g) * x.d, shape);
    op.split = Split::kHeads;
    op.rows_divide = false;
    op.parameters = 2 * x.d;
    ops.push_back(op);
  }
  if (shape.position == PositionKind::kRotary) {
    const double rotated = latent ? (x.a + 1) * rope : (x.a + x.g) * x.d;
    ops.push_back(elementwise("rotary", Split::kHeads, x.s, rotated, 1, 4));
  }
  Operator op;
  op.name = "attention";
  op.kind = OpKind::kAttention;
  op.split = Split::kHeads;
  op.rows = x.s;
  op.heads = shape.heads;
  op.kv_heads = latent ? shape.heads : shape.kv_heads;
  op.head_dim = x.d + (latent ? rope : 0);
  op.value_head_dim = x.dv;
  op.keys = shape.window > 0 ? std::min<double>(shape.window, x.s) : x.s;
  op.causal = shape.causal;
  op.n = x.a * x.dv;
  op.flops = 2 * x.s * op.keys * x.a * (op.head_dim + x.dv);
  op.read_elements = x.s * (x.a * op.head_dim + op.kv_heads * (op.head_dim + x.dv));
  op.written_elements = x.s * x.a * x.dv;
  op.saved_elements = op.read_elements;
  op.saved_bytes = 4 * x.s * x.a;  // one log-sum-exp a row and head
  op.kernels = 5;                  // unfused: QK^T, scale-mask-softmax, dropout, PV, transpose
  ops.push_back(op);
  ops.push_back(gemm("attention_output", Split::kRow, x.s, x.h, x.a * x.dv, shape.bias));
  layer.tensor_regions.push_back({x.s * x.h});
}

void add_mlp(LayerKind& layer, const TransformerShape& shape, const Dims& x, double ffn,
             const std::string& prefix) {
  const double up = ffn * (shape.gated_mlp ? 2 : 1);
  layer.operators.push_back(gemm(prefix + "up", Split::kColumn, x.s, up, x.h, shape.bias));
  Operator act = elementwise(prefix + "activation", Split::kFeatures, x.s, ffn,
                             shape.gated_mlp ? 2 : 1, shape.gated_mlp ? 2 : 1);
  act.saved_elements = x.s * up;
  layer.operators.push_back(act);
  layer.operators.push_back(gemm(prefix + "down", Split::kRow, x.s, x.h, ffn, shape.bias));
}

void add_experts(LayerKind& layer, const TransformerShape& shape, const Dims& x) {
  auto& ops = layer.operators;
  Operator gate = gemm("router", Split::kReplicated, x.s, shape.experts, x.h, false);
  ops.push_back(gate);
  Operator choose = elementwise("top_k", Split::kReplicated, x.s, shape.experts, 1, 6);
  choose.kind = OpKind::kRouter;
  choose.saved_elements = x.s * shape.experts;
  ops.push_back(choose);

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
  Operator permute = elementwise("permute", Split::kExperts, rows, x.h, 1, 4);
  permute.batch = shape.experts;
  permute.saved_elements = rows * x.h;
  ops.push_back(permute);
  Operator up_op = make_expert(gemm("expert_up", Split::kColumn, rows, up, x.h, false));
  up_op.saved_elements = 0;  // its input is the permuted tokens, counted there
  ops.push_back(up_op);
  Operator act = make_expert(elementwise("expert_activation", Split::kFeatures, rows, ffn,
                                         shape.gated_mlp ? 2 : 1, shape.gated_mlp ? 2 : 1));
  act.saved_elements = rows * up;
  ops.push_back(act);
  ops.push_back(make_expert(gemm("expert_down", Split::kRow, rows, x.h, ffn, false)));
  Operator combine = elementwise("combine", Split::kExperts, rows, x.h, 1, 4);
  combine.batch = shape.experts;
  combine.saved_elements = rows * x.h;
  ops.push_back(combine);
  layer.expert_regions.push_back({rows * x.h});

  if (shape.shared_experts > 0) {
    const double shared = static_cast<double>(shape.shared_expert_ffn > 0 ? shape.shared_expert_ffn
                                                                          : shape.expert_ffn) *
                          shape.shared_experts;
    add_mlp(layer, shape, x, shared, "shared_");
  }
}

LayerKind block(const TransformerShape& shape, const Dims& x, bool expert_block) {
  LayerKind layer;
  layer.name = expert_block ? "expert_block" : "block";
  layer.role = LayerRole::kBlock;
  layer.input_elements = layer.output_elements = x.s * x.h;
  layer.operators.push_back(norm("attention_norm", x.s, x.h, shape));
  add_attention(layer, shape, x);
  layer.operators.push_back(residual("attention_residual", x));
  layer.operators.push_back(norm("mlp_norm", x.s, x.h, shape));
  if (expert_block) {
    add_experts(layer, shape, x);
    if (shape.shared_experts > 0) layer.tensor_regions.push_back({x.s * x.h});
  } else {
    add_mlp(layer, shape, x, x.f, "");
    layer.tensor_regions.push_back({x.s * x.h});
  }
  layer.operators.push_back(residual("mlp_residual", x));
  return layer;
}

LayerKind embedding(const TransformerShape& shape, const Dims& x) {
  LayerKind layer;
  layer.name = "embedding";
  layer.role = LayerRole::kEmbedding;
  layer.output_elements = x.s * x.h;
  if (shape.patch > 0) {
    // A vision transformer cuts the image into patches: a convolution that is a plain GEMM over
    // patches.
    const double patch_elements = 3.0 * shape.patch * shape.patch;
    layer.operators.push_back(gemm("patches", Split::kReplicated, x.s, x.h, patch_elements, true));
    layer.operators.back().parameters += x.h;  // the class token
    layer.input_elements = 3.0 * shape.image * shape.image;
  } else {
    Operator op;
    op.name = "token_embedding";
    op.kind = OpKind::kEmbedding;
    op.split = Split::kVocabulary;
    op.rows = x.s;
    op.n = x.h;
    op.k = x.v;
    op.parameters = x.v * x.h;
    op.read_elements = x.s * x.h;
    op.written_elements = x.s * x.h;
    op.kernels = 1;
    layer.operators.push_back(op);
    layer.tensor_regions.push_back({x.s * x.h});
    layer.input_elements = x.s;
  }
  if (shape.position == PositionKind::kLearned) {
    Operator op = elementwise("position_embedding", Split::kReplicated, x.s, x.h, 2, 1);
    op.rows_divide = true;
    op.parameters = static_cast<double>(shape.max_positions) * x.h;
    layer.operators.push_back(op);
  }
  return layer;
}

LayerKind head(const TransformerShape& shape, const Dims& x) {
  LayerKind layer;
  layer.name = "head";
  layer.role = LayerRole::kHead;
  layer.input_elements = x.s * x.h;
  const double rows = shape.patch > 0 ? 1 : x.s;  // a classifier reads one token
  layer.operators.push_back(norm("final_norm", x.s, x.h, shape));
  if (shape.family == "bert") {
    layer.operators.push_back(gemm("transform", Split::kReplicated, x.s, x.h, x.h, true));
    layer.operators.push_back(norm("transform_norm", x.s, x.h, shape));
  }
  layer.operators.push_back(gemm("logits", Split::kVocabulary, rows, x.v, x.h, shape.patch > 0));
  Operator loss;
  loss.name = "loss";
  loss.kind = OpKind::kLoss;
  loss.split = Split::kVocabulary;
  loss.rows = rows;
  loss.n = x.v;
  loss.flops = 5 * rows * x.v;
  loss.read_elements = 3 * rows * x.v;
  loss.written_elements = 2 * rows * x.v;
  loss.saved_bytes = 4 * rows * x.v;  // fp32 logits or their softmax
  loss.kernels = 8;
  layer.operators.push_back(loss);
  if (shape.patch == 0) layer.tensor_regions.push_back({rows * x.h});
  return layer;
}

}  // namespace

TransformerShape resolve(TransformerShape shape) {
  ErrorList errors;
  const auto positive = [&](int value, const char* what) {
    if (value <= 0)
      errors.add("model.shape", fmt::format("{} = {}: it must be at least 1", what, value), {},
                 fmt::format("state {} in the model", what));
  };
  positive(shape.layers, "layers");
  positive(shape.hidden, "hidden");
  positive(shape.heads, "heads");
  if (shape.patch > 0 && shape.image > 0) {
    shape.seq = (shape.image / shape.patch) * (shape.image / shape.patch) + 1;
  }
  positive(shape.seq, "seq");
  positive(shape.vocab, shape.patch > 0 ? "classes" : "vocab");
  if (shape.experts == 0 || shape.dense_layers > 0) positive(shape.ffn, "ffn");
  if (shape.kv_heads == 0) shape.kv_heads = shape.heads;
  if (shape.head_dim == 0 && shape.heads > 0) {
    if (shape.hidden % shape.heads != 0)
      errors.add(
          "model.heads",
          fmt::format("hidden = {} is not a multiple of heads = {}, and head_dim is not given",
                      shape.hidden, shape.heads),
          {}, "give head_dim, or a number of heads that divides hidden");
    shape.head_dim = shape.hidden / std::max(1, shape.heads);
  }
  if (shape.kv_heads > 0 && shape.heads > 0 && shape.heads % shape.kv_heads != 0)
    errors.add(
        "model.kv-heads",
        fmt::format("heads = {} is not a multiple of kv_heads = {}", shape.heads, shape.kv_heads),
        {}, "every key-value head serves the same number of query heads");
  if (shape.experts > 0) {
    if (shape.expert_ffn == 0) shape.expert_ffn = shape.ffn;
    positive(shape.expert_ffn, "expert_ffn");
    if (shape.top_k < 1 || shape.top_k > shape.experts)
      errors.add("model.top-k", fmt::format("top_k = {} must lie in 1 .. experts = {}", shape.top_k,
                                            shape.experts));
    if (shape.dense_layers > shape.layers)
      errors.add("model.dense-layers", fmt::format("dense_layers = {} exceeds layers = {}",
                                                   shape.dense_layers, shape.layers));
  }
  if (shape.value_head_dim == 0) shape.value_head_dim = shape.head_dim;
  if (shape.position == PositionKind::kLearned && shape.max_positions < shape.seq)
    shape.max_positions = shape.seq;
  errors.throw_if_any();
  return shape;
}

Model build_transformer(const TransformerShape& given) {
  const TransformerShape shape = resolve(given);
  const Dims x{double(shape.seq),      double(shape.hidden),   double(shape.heads),
               double(shape.kv_heads), double(shape.head_dim), double(shape.value_head_dim),
               double(shape.ffn),      double(shape.vocab)};
  Model model;
  model.name = shape.name;
  model.family = shape.family;
  model.transformer = shape;
  model.tokens_per_sample = shape.patch > 0 ? 0 : x.s;

  const bool moe = shape.experts > 0;
  const int dense = moe ? shape.dense_layers : shape.layers;
  model.kinds.push_back(embedding(shape, x));
  model.layers.push_back(0);
  if (dense > 0) {
    model.kinds.push_back(block(shape, x, false));
    model.layers.insert(model.layers.end(), static_cast<size_t>(dense),
                        static_cast<int>(model.kinds.size()) - 1);
  }
  if (moe && shape.layers > dense) {
    model.kinds.push_back(block(shape, x, true));
    model.layers.insert(model.layers.end(), static_cast<size_t>(shape.layers - dense),
                        static_cast<int>(model.kinds.size()) - 1);
  }
  model.kinds.push_back(head(shape, x));
  model.layers.push_back(static_cast<int>(model.kinds.size()) - 1);
  if (shape.tied_embeddings && shape.patch == 0)
    model.tied.push_back({0, model.num_layers() - 1, x.v * x.h});
  return model;
}

}  // namespace nereus::model
