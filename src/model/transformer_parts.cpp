#include "model/transformer_parts.hpp"

namespace nereus::model {

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

Operator on_own_rows(Operator op) {
  op.rows_divide = true;
  return op;
}

// With m streams, the mixer reads a mixture of all of them, and its output is added to each after
// the streams were mixed: m reads before, m + 1 reads and m writes after.
Operator residual(std::string name, const TransformerShape& shape, const SampleDims& x) {
  const double m = shape.streams;
  if (m == 1) {
    Operator op = elementwise(std::move(name), Split::kReplicated, x.s, x.h, 2, 1);
    op.rows_divide = true;
    return op;
  }
  Operator op = elementwise(std::move(name), Split::kReplicated, x.s, x.h, 2 * m + 1, 8);
  op.rows_divide = true;
  op.written_elements = x.s * x.h * (m + 1);
  op.saved_elements = x.s * x.h * m;
  op.parameters = (2 + m) * m * x.h;  // what the blends are computed with
  return op;
}

Operator token_embedding(const SampleDims& x) {
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
  return op;
}

void add_mlp(LayerKind& layer, const TransformerShape& shape, const SampleDims& x, double ffn,
             const std::string& prefix) {
  const double up = ffn * (shape.gated_mlp ? 2 : 1);
  layer.operators.push_back(gemm(prefix + "up", Split::kColumn, x.s, up, x.h, shape.bias));
  Operator act = elementwise(prefix + "activation", Split::kFeatures, x.s, ffn,
                             shape.gated_mlp ? 2 : 1, shape.gated_mlp ? 2 : 1);
  act.saved_elements = x.s * up;
  layer.operators.push_back(act);
  layer.operators.push_back(gemm(prefix + "down", Split::kRow, x.s, x.h, ffn, shape.bias));
}

}  // namespace nereus::model
