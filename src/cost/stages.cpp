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

// Blocks that the head counts for: one, and one for every further token that it predicts.
int head_units(const model::Model& model) {
  int losses = 0;
  for (const model::Operator& op : model.layer(model.num_layers() - 1).operators)
    losses += op.kind == model::OpKind::kLoss ? 1 : 0;
  return losses;
}

std::vector<int> ends_starts(const model::Model& model, int num_stages) {
  const int layers = model.num_layers();
  const int blocks = layers - 2;
  if (!model.transformer || blocks < num_stages) return even_starts(model, num_stages);
  // The ends count where that divides evenly; else the head counts unless the blocks divide alone.
  int first = 1;
  int last = head_units(model);
  if ((first + blocks + last) % num_stages != 0) first = 0;
  if ((first + blocks + last) % num_stages != 0 && blocks % num_stages == 0) last = 0;
  const int units = first + blocks + last;
  std::vector<int> starts(static_cast<std::size_t>(num_stages) + 1, layers);
  int begin = 0;  // in units
  for (int i = 0; i < num_stages; ++i) {
    // The first block of the stage; no stage is left without a layer.
    const int layer =
        i == 0 ? 0 : std::max(begin - first + 1, starts[static_cast<std::size_t>(i) - 1] + 1);
    starts[static_cast<std::size_t>(i)] = std::min(layer, layers - (num_stages - i));
    begin += units / num_stages + (i < units % num_stages ? 1 : 0);
  }
  return starts;
}

}  // namespace

std::vector<int> stage_starts(const model::Model& model, int num_stages, StageRule rule) {
  switch (rule) {
    case StageRule::kBalanced:
      return balanced_starts(model, num_stages);
    case StageRule::kEnds:
      return ends_starts(model, num_stages);
    default:
      return even_starts(model, num_stages);
  }
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
