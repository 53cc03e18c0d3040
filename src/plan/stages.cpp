#include "plan/stages.hpp"

namespace nereus::plan {

LayerSpan layer_span(const model::Model& model) {
  const int num_layers = model.num_layers();
  LayerSpan span;
  while (span.leading < num_layers &&
         model.layer(span.leading).role == model::LayerRole::kEmbedding)
    ++span.leading;
  while (span.trailing < num_layers - span.leading &&
         model.layer(num_layers - 1 - span.trailing).role == model::LayerRole::kHead)
    ++span.trailing;
  span.blocks = num_layers - span.leading - span.trailing;
  return span;
}

std::vector<StageSplit> stage_layers(const model::Model& model, int pp, int interleave) {
  const LayerSpan span = layer_span(model);
  std::vector<StageSplit> stages;
  for (int s = 0; s < pp * interleave; ++s) stages.push_back(stage_of(span, pp * interleave, s));
  return stages;
}

}  // namespace nereus::plan
