#include <algorithm>

#include "model/transformer_parts.hpp"

namespace nereus::model {

namespace {

// DeepSeek-V2 (2405.04434): queries and key-values go through low-rank products; all heads share
// the rotary part of the key.
void add_latent_inputs(LayerKind& layer, const TransformerShape& shape, const SampleDims& x) {
  auto& ops = layer.operators;
  const double rope = shape.rope_head_dim;
  const double q_rank = shape.q_lora;
  const double kv_rank = shape.kv_lora;
  if (q_rank > 0) {
    ops.push_back(on_own_rows(gemm("q_down", Split::kReplicated, x.s, q_rank, x.h, false)));
    ops.push_back(norm("q_norm", x.s, q_rank, shape));
    ops.push_back(gemm("q_up", Split::kColumn, x.s, x.a * (x.d + rope), q_rank, false));
  } else {
    ops.push_back(gemm("q", Split::kColumn, x.s, x.a * (x.d + rope), x.h, false));
  }
  ops.push_back(on_own_rows(gemm("kv_down", Split::kReplicated, x.s, kv_rank + rope, x.h, false)));
  ops.push_back(norm("kv_norm", x.s, kv_rank, shape));
  ops.push_back(gemm("kv_up", Split::kColumn, x.s, x.a * (x.d + x.dv), kv_rank, false));
}

// DeepSeek-V4: one vector of head_dim is key and value of all heads. Compressed keys are weighted
// means of overlapping ranges of tokens, with separate weights; an indexer with small heads scores
// the near ones for every query.
void add_compressed_inputs(LayerKind& layer, const TransformerShape& shape, const SampleDims& x,
                           Reach reach) {
  auto& ops = layer.operators;
  const double q_rank = shape.q_lora;
  ops.push_back(on_own_rows(gemm("q_down", Split::kReplicated, x.s, q_rank, x.h, false)));
  ops.push_back(norm("q_norm", x.s, q_rank, shape));
  ops.push_back(gemm("q_up", Split::kColumn, x.s, x.a * x.d, q_rank, false));
  ops.push_back(on_own_rows(gemm("kv", Split::kReplicated, x.s, x.d, x.h, false)));
  ops.push_back(norm("kv_norm", x.s, x.d, shape));
  if (reach == Reach::kWindow) return;
  const double overlap = reach == Reach::kNear ? 2 : 1;
  ops.push_back(
      on_own_rows(gemm("compress", Split::kReplicated, x.s, 2 * overlap * x.d, x.h, false)));
  ops.push_back(elementwise("compress_weights", Split::kReplicated, x.s, 2 * overlap * x.d, 1, 4));
  if (reach == Reach::kFar) return;
  const double heads = shape.index_heads;
  const double dim = shape.index_head_dim;
  ops.push_back(gemm("index_q", Split::kReplicated, x.s, heads * dim, q_rank, false));
  ops.push_back(gemm("index_k", Split::kReplicated, x.s, 4 * dim + heads, x.h, false));
  Operator scores =
      gemm("index_scores", Split::kReplicated, x.s, x.s / shape.compress_near, heads * dim, false);
  scores.parameters = 0;  // both sides are activations
  scores.full_width = true;
  ops.push_back(scores);
  ops.push_back(
      elementwise("index_top_k", Split::kReplicated, x.s, x.s / shape.compress_near, 3, 6));
  // Every query reads the keys chosen for it; neighbours share few of them.
  Operator gather =
      elementwise("gather_keys", Split::kReplicated, x.s,
                  std::min<double>(shape.index_top_k, x.s / shape.compress_near) * x.d, 1, 1);
  gather.written_elements = 0;
  ops.push_back(gather);
}

double keys_of(const TransformerShape& shape, const SampleDims& x, Reach reach) {
  const double window = shape.window > 0 ? std::min<double>(shape.window, x.s) : x.s;
  switch (reach) {
    case Reach::kAll:
      return x.s;
    case Reach::kWindow:
      return window;
    case Reach::kNear:
      return std::min(x.s, window + std::min<double>(shape.index_top_k, x.s / shape.compress_near));
    case Reach::kFar:
      return std::min(x.s, window + x.s / shape.compress_far);
  }
  return x.s;
}

}  // namespace

void add_attention(LayerKind& layer, const TransformerShape& shape, const SampleDims& x,
                   Reach reach) {
  auto& ops = layer.operators;
  const bool latent = shape.kv_lora > 0;
  const bool compressed = shape.compress_near > 0;
  const double rope = shape.rope_head_dim;
  if (compressed)
    add_compressed_inputs(layer, shape, x, reach);
  else if (latent)
    add_latent_inputs(layer, shape, x);
  else
    ops.push_back(gemm("qkv", Split::kColumn, x.s, (x.a + 2 * x.g) * x.d, x.h, shape.bias));
  if (shape.qk_norm) {
    Operator op = norm("qk_norm", x.s, (x.a + x.g) * x.d, shape);
    op.split = Split::kHeads;
    op.rows_divide = false;
    op.parameters = 2 * x.d;
    ops.push_back(op);
  }
  if (shape.position == PositionKind::kRotary) {
    const double rotated = latent || compressed ? (x.a + 1) * rope : (x.a + x.g) * x.d;
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
  op.keys = keys_of(shape, x, reach);
  op.causal = shape.causal;
  op.n = x.a * x.dv;
  op.flops = 2 * x.s * op.keys * x.a * (op.head_dim + x.dv);
  op.read_elements = x.s * (x.a * op.head_dim + op.kv_heads * (op.head_dim + x.dv));
  op.written_elements = x.s * x.a * x.dv;
  op.saved_elements = op.read_elements;
  op.saved_bytes = 4 * x.s * x.a;  // one log-sum-exp a row and head
  op.kernels = 5;                  // unfused: QK^T, scale-mask-softmax, dropout, PV, transpose
  ops.push_back(op);
  if (shape.output_groups > 0) {
    // Each group of heads goes through its own product of low rank; one product joins them.
    const double groups = shape.output_groups;
    const double rank = shape.output_lora;
    Operator down =
        gemm("output_down", Split::kColumn, x.s, rank * groups, x.a * x.dv / groups, false);
    ops.push_back(down);
    ops.push_back(gemm("attention_output", Split::kRow, x.s, x.h, rank * groups, false));
  } else {
    ops.push_back(gemm("attention_output", Split::kRow, x.s, x.h, x.a * x.dv, shape.bias));
  }
  layer.tensor_regions.push_back({x.s * x.h});
}

}  // namespace nereus::model
