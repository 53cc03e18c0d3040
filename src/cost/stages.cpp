#include "cost/stages.hpp"

#include <algorithm>

#include "cost/stack.hpp"

namespace nereus::cost {

namespace {

std::vector<int> even_starts(const model::Model& model, int num_stages) {
  const int layers = model.num_layers();
  // Layers before the first and after the last block travel with their neighbours.
  int head = 0;
  int tail = 0;
  while (head < layers && model.layer(head).role == model::LayerRole::kEmbedding) ++head;
  while (tail < layers - head && model.layer(layers - 1 - tail).role == model::LayerRole::kHead)
    ++tail;
  const int blocks = layers - head - tail;
  std::vector<int> starts(static_cast<size_t>(num_stages) + 1);
  const int base = blocks / num_stages;
  const int extra = blocks % num_stages;
  int at = head;
  for (int i = 0; i < num_stages; ++i) {
    starts[static_cast<size_t>(i)] = i == 0 ? 0 : at;
    // The stage with the embedding and the one with the head get an extra block last.
    const int rank = num_stages > 1 ? (i == 0 ? num_stages - 2 : i - 1) : 0;
    const int position = i == num_stages - 1 && num_stages > 1 ? num_stages - 1 : rank;
    at += base + (position < extra ? 1 : 0);
  }
  starts.back() = layers;
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
  StageTable table{pp, interleave, {}};
  for (int rank = 0; rank < pp; ++rank) {
    StageClass stage;
    stage.counts.assign(model.kinds.size(), 0);
    stage.first = rank;
    for (int chunk = 0; chunk < interleave; ++chunk) {
      const size_t v = static_cast<size_t>(chunk * pp + rank);
      for (int i = starts[v]; i < starts[v + 1]; ++i) {
        ++stage.counts[static_cast<size_t>(model.layers[static_cast<size_t>(i)])];
        if (i == 0) stage.holds_first_layer = true;
        if (i == model.num_layers() - 1) stage.holds_last_layer = true;
        if (model.layer(i).role == model::LayerRole::kBlock ||
            model.layer(i).role == model::LayerRole::kOther)
          ++stage.num_blocks;
      }
    }
    const auto same =
        std::find_if(table.classes.begin(), table.classes.end(), [&](const StageClass& other) {
          return other.counts == stage.counts &&
                 other.holds_first_layer == stage.holds_first_layer &&
                 other.holds_last_layer == stage.holds_last_layer;
        });
    if (same != table.classes.end()) {
      ++same->multiplicity;
    } else {
      table.classes.push_back(stage);
    }
  }
  return table;
}

}  // namespace nereus::cost
