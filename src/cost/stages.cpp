#include "cost/stages.hpp"

#include <algorithm>

#include "cost/stack.hpp"
#include "plan/stages.hpp"

namespace nereus::cost {

namespace {

std::vector<int> even_starts(const model::Model& model, int num_stages) {
  const plan::LayerSpan span = plan::layer_span(model);
  std::vector<int> starts;
  for (int i = 0; i < num_stages; ++i)
    starts.push_back(plan::stage_of(span, num_stages, i).first_layer);
  starts.push_back(model.num_layers());
  return starts;
}

std::vector<int> balanced_starts(const model::Model& model, int num_stages) {
  const int layers = model.num_layers();
  std::vector<double> cumulative(static_cast<size_t>(layers));
  double total = 0;
  for (int i = 0; i < layers; ++i) {
    const model::LayerKind& layer = model.layer(i);
    if (layer.role != model::LayerRole::kEmbedding)
      for (const model::Operator& op : layer.operators)
        if (op.kind == model::OpKind::kGemm) total += op.n * op.k;
    cumulative[static_cast<size_t>(i)] = total;
  }
  std::vector<int> starts(static_cast<size_t>(num_stages) + 1, layers);
  starts[0] = 0;
  int stage = 0;
  for (int i = 0; i < layers; ++i) {
    if (stage + 1 < num_stages &&
        cumulative[static_cast<size_t>(i)] > total * (stage + 1) / num_stages)
      starts[static_cast<size_t>(++stage)] = i;
  }
  return starts;
}

}  // namespace

std::vector<int> stage_starts(const model::Model& model, int num_stages, StageRule rule) {
  return rule == StageRule::kBalanced ? balanced_starts(model, num_stages)
                                      : even_starts(model, num_stages);
}

StageTable make_stage_table(const model::Model& model, int pp, int interleave, StageRule rule) {
  const int num_stages = pp * interleave;
  const std::vector<int> starts = stage_starts(model, num_stages, rule);
  const auto kind_of = [&](int layer) { return model.layers[static_cast<std::size_t>(layer)]; };
  StageTable table{pp, interleave, {}, {}};
  std::vector<int> counts(model.kinds.size());
  for (int rank = 0; rank < pp; ++rank) {
    StageClass stage;
    stage.first = rank;
    std::fill(counts.begin(), counts.end(), 0);
    for (int chunk = 0; chunk < interleave; ++chunk) {
      const auto v = static_cast<std::size_t>(chunk * pp + rank);
      for (int i = starts[v]; i < starts[v + 1]; ++i)
        ++counts[static_cast<std::size_t>(kind_of(i))];
      if (starts[v] == starts[v + 1]) continue;
      stage.holds_first_layer |= starts[v] == 0;
      stage.holds_last_layer |= starts[v + 1] == model.num_layers();
    }
    for (std::size_t kind = 0; kind < counts.size(); ++kind)
      if (counts[kind] > 0) stage.layers.push_back({static_cast<int>(kind), counts[kind]});
    const auto same =
        std::find_if(table.classes.begin(), table.classes.end(), [&](const StageClass& other) {
          return other.layers == stage.layers &&
                 other.holds_first_layer == stage.holds_first_layer &&
                 other.holds_last_layer == stage.holds_last_layer;
        });
    if (same != table.classes.end())
      ++same->multiplicity;
    else
      table.classes.push_back(stage);
  }
  std::fill(counts.begin(), counts.end(), 0);
  for (std::size_t v = 1; v < static_cast<std::size_t>(num_stages); ++v)
    if (starts[v] > 0) ++counts[static_cast<std::size_t>(kind_of(starts[v] - 1))];
  for (std::size_t kind = 0; kind < counts.size(); ++kind)
    if (counts[kind] > 0) table.boundaries.push_back({static_cast<int>(kind), counts[kind]});
  return table;
}

}  // namespace nereus::cost
