#include "model/dlrm.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "model/graph.hpp"
#include "model/vision_ops.hpp"

namespace nereus::model {

namespace {

LayerKind table(double rows, double lookups, double dim) {
  LayerKind kind;
  kind.role = LayerRole::kEmbedding;
  kind.name = fmt::format("table {} x {} lookups {}", rows, dim, lookups);
  kind.input_elements = lookups;
  kind.output_elements = dim;
  Operator op;
  op.name = "embedding_bag";
  op.kind = OpKind::kEmbeddingBag;
  op.rows = lookups;
  op.n = dim;
  op.k = rows;
  op.parameters = rows * dim;
  op.flops = lookups * dim;
  op.read_elements = lookups * dim;
  op.written_elements = dim;
  op.saved_bytes = 8 * lookups;  // the indices
  kind.operators.push_back(op);
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

// All vectors are written into one matrix T; T T^T gives the products, of which the lower triangle
// is used.
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

int lookups_of(const DlrmShape& shape, size_t i) {
  if (shape.lookups.empty()) return 1;
  return shape.lookups.size() == 1 ? shape.lookups[0] : shape.lookups[i];
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
               fmt::format("lookups has {} entries for {} tables", shape.lookups.size(),
                           shape.rows.size()),
               {}, "one entry for all tables, or one for each");
  within("dim", shape.dim, kLargest);
  within("dense_features", shape.dense_features, kLargest);
  mlp("bottom", shape.bottom, shape.dim);
  mlp("top", shape.top, 1);
  errors.throw_if_any();
  return shape;
}

Model build_dlrm(const DlrmShape& given) {
  const DlrmShape shape = resolve(given);
  GraphBuilder graph;
  std::vector<GraphInput> vectors;
  double in = shape.dense_features;
  for (size_t i = 0; i < shape.bottom.size(); ++i) {
    LayerKind kind = dense(in, shape.bottom[i], false);
    if (i == 0) kind.input_elements = kind.operators.front().saved_elements = in;
    std::vector<GraphInput> from;
    if (i > 0) from.push_back({static_cast<int>(i) - 1, in});
    in = shape.bottom[i];
    const int layer = graph.add(std::move(kind), from);
    if (i + 1 == shape.bottom.size()) vectors.push_back({layer, in});
  }
  for (size_t i = 0; i < shape.rows.size(); ++i) {
    const int layer =
        graph.add(table(static_cast<double>(shape.rows[i]), lookups_of(shape, i), shape.dim), {});
    vectors.push_back({layer, static_cast<double>(shape.dim)});
  }
  LayerKind meet = interaction(static_cast<double>(vectors.size()), shape.dim);
  in = meet.output_elements;
  int layer = graph.add(std::move(meet), vectors);
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
