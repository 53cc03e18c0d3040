#include "model/dlrm.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/format.hpp"
#include "model/graph.hpp"
#include "model/vision_ops.hpp"

namespace nereus::model {

namespace {

int lookups_of(const DlrmShape& shape, size_t i) {
  if (shape.lookups.empty()) return 1;
  return shape.lookups.size() == 1 ? shape.lookups[0] : shape.lookups[i];
}

Operator table(const DlrmShape& shape, size_t i) {
  const auto rows = static_cast<double>(shape.rows[i]);
  const double lookups = lookups_of(shape, i);
  const double dim = shape.dim;
  Operator op;
  op.name = fmt::format("table {}", i);
  op.kind = OpKind::kEmbeddingBag;
  op.split = Split::kTables;
  op.rows = lookups;
  op.n = dim;
  op.k = rows;
  op.parameters = rows * dim;
  op.flops = lookups * dim;
  op.read_elements = lookups * dim;
  op.written_elements = dim;
  op.saved_bytes = 8 * lookups;  // the indices
  op.weight_bytes = shape.table_bytes;
  switch (shape.table_optimizer) {
    case TableOptimizer::kSgd:
      break;
    case TableOptimizer::kRowwiseAdagrad:
      op.row_state_bytes = 4;
      break;
    case TableOptimizer::kAdagrad:
      op.state_bytes = 4;
      break;
    case TableOptimizer::kAdam:
      op.state_bytes = 8;
      break;
  }
  op.kernels = i == 0 ? 1 : 0;  // all tables of a rank are one kernel
  return op;
}

LayerKind tables(const DlrmShape& shape) {
  LayerKind kind;
  kind.role = LayerRole::kEmbedding;
  kind.name = fmt::format("{} tables x {}", shape.rows.size(), shape.dim);
  for (size_t i = 0; i < shape.rows.size(); ++i) {
    kind.operators.push_back(table(shape, i));
    kind.input_elements += lookups_of(shape, i);
    kind.output_elements += shape.dim;
  }
  return kind;
}

LayerKind dense(double in, double out, bool last) {
  LayerKind kind;
  kind.name = fmt::format("dense {} -> {} {}", in, out, last ? "sigmoid loss" : "relu");
  kind.output_elements = last ? 0 : out;
  kind.role = last ? LayerRole::kHead : LayerRole::kBlock;
  kind.operators.push_back(linear("dense", 1, out, in, true));
  Operator activation = elementwise(last ? "sigmoid" : "relu", 1, out, 1);
  activation.saved_elements = out;
  kind.operators.push_back(activation);
  if (last) kind.operators.push_back(cross_entropy(1, out));
  return kind;
}

// All vectors are written to one matrix T; T T^T gives the products, of which the lower triangle is
// used.
LayerKind interaction(double vectors, double dim) {
  LayerKind kind;
  kind.name = fmt::format("interaction {} x {}", vectors, dim);
  kind.output_elements = vectors * (vectors - 1) / 2 + dim;
  Operator op;
  op.name = "interaction";
  op.kind = OpKind::kInteraction;
  op.rows = vectors;
  op.n = vectors;
  op.k = dim;
  op.flops = 2 * vectors * vectors * dim;
  op.read_elements = vectors * dim;
  op.written_elements = kind.output_elements;
  op.saved_elements = vectors * dim + kind.output_elements;  // T, and what the top MLP reads
  op.kernels = 4;  // concatenate, multiply, select, concatenate
  kind.operators.push_back(op);
  return kind;
}

// All vectors, concatenated.
LayerKind concatenation(double vectors, double dim) {
  LayerKind kind;
  kind.name = fmt::format("concatenation {} x {}", vectors, dim);
  kind.output_elements = vectors * dim;
  Operator op = elementwise("concatenate", 1, vectors * dim, 1);
  op.saved_elements = vectors * dim;  // what the next layer reads
  kind.operators.push_back(op);
  return kind;
}

// x0 * (W (V x) + b) + x over `width` features.
LayerKind cross(double width, double rank) {
  LayerKind kind;
  kind.name = fmt::format("cross {} rank {}", width, rank);
  kind.output_elements = width;
  kind.operators.push_back(linear("cross_down", 1, rank, width, false));
  kind.operators.push_back(linear("cross_up", 1, width, rank, true));
  kind.operators.back().saved_elements = rank;
  Operator op = elementwise("cross", 1, width, 3);
  op.saved_elements = 2 * width;  // W (V x) + b, and the result
  kind.operators.push_back(op);
  return kind;
}

}  // namespace

DlrmShape resolve(DlrmShape shape) {
  ErrorList errors;
  constexpr size_t kMostTables = 100'000;
  constexpr std::int64_t kMostRows = 1'000'000'000'000;
  constexpr int kLargest = 1'000'000;
  const auto within = [&](const char* what, std::int64_t value, std::int64_t most) {
    if (value < 1 || value > most)
      errors.add("model.shape", fmt::format("{} = {} must lie in 1 .. {}", what, value, most));
  };
  const auto mlp = [&](const char* what, const std::vector<int>& sizes, int last) {
    if (sizes.empty() || sizes.size() > 1000) {
      errors.add("model.shape",
                 fmt::format("{} has {} layers: it must have 1 to 1000", what, sizes.size()));
      return;
    }
    for (int size : sizes) within(what, size, kLargest);
    if (sizes.back() != last)
      errors.add("model.shape",
                 fmt::format("{} ends with {}: it must end with {}", what, sizes.back(), last));
  };
  if (shape.rows.empty() || shape.rows.size() > kMostTables)
    errors.add("model.shape",
               fmt::format("{} tables: there must be 1 to {}", shape.rows.size(), kMostTables), {},
               "rows = [..]");
  for (std::int64_t rows : shape.rows) within("rows", rows, kMostRows);
  for (int lookups : shape.lookups) within("lookups", lookups, kLargest);
  if (shape.lookups.size() > 1 && shape.lookups.size() != shape.rows.size())
    errors.add("model.shape",
               fmt::format("lookups has {} entries for {}", shape.lookups.size(),
                           counted(shape.rows.size(), "table")),
               {}, "one entry for all tables, or one for each");
  within("dim", shape.dim, kLargest);
  within("dense_features", shape.dense_features, kLargest);
  mlp("bottom", shape.bottom, shape.dim);
  mlp("top", shape.top, 1);
  const bool crosses = shape.interaction == Interaction::kCross;
  if (crosses) {
    within("cross_layers", shape.cross_layers, 1000);
    within("cross_rank", shape.cross_rank, kLargest);
  }
  if (!crosses && (shape.cross_layers != 0 || shape.cross_rank != 0))
    errors.add("model.shape",
               fmt::format("cross_layers = {} and cross_rank = {} without interaction = \"cross\"",
                           shape.cross_layers, shape.cross_rank));
  const int bytes = shape.table_bytes;
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
    errors.add("model.shape", fmt::format("table_bytes = {} must be 1, 2, 4 or 8", bytes));
  errors.throw_if_any();
  return shape;
}

Model build_dlrm(const DlrmShape& given) {
  const DlrmShape shape = resolve(given);
  GraphBuilder graph;
  const double num_vectors = static_cast<double>(shape.rows.size()) + 1;
  const double width = num_vectors * shape.dim;
  std::vector<GraphInput> vectors = {{graph.add(tables(shape), {}), width - shape.dim}};
  double in = shape.dense_features;
  for (size_t i = 0; i < shape.bottom.size(); ++i) {
    LayerKind kind = dense(in, shape.bottom[i], false);
    if (i == 0) kind.input_elements = kind.operators.front().saved_elements = in;
    std::vector<GraphInput> from;
    if (i > 0) from.push_back({static_cast<int>(i), in});
    in = shape.bottom[i];
    const int layer = graph.add(std::move(kind), from);
    if (i + 1 == shape.bottom.size()) vectors.push_back({layer, in});
  }
  LayerKind meet = shape.interaction == Interaction::kDot ? interaction(num_vectors, shape.dim)
                                                          : concatenation(num_vectors, shape.dim);
  in = meet.output_elements;
  int layer = graph.add(std::move(meet), vectors);
  for (int i = 0; i < shape.cross_layers; ++i)
    layer = graph.add(cross(width, shape.cross_rank), {{layer, width}});
  for (size_t i = 0; i < shape.top.size(); ++i) {
    LayerKind kind = dense(in, shape.top[i], i + 1 == shape.top.size());
    layer = graph.add(std::move(kind), {{layer, in}});
    in = shape.top[i];
  }
  Model model = graph.finish();
  model.name = shape.name;
  model.family = "dlrm";
  model.dlrm = shape;
  return model;
}

}  // namespace nereus::model
