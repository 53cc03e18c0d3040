#include "app/predict/layer_predictions.hpp"

#include "plan/expand.hpp"

namespace nereus::app {

LayerPredictions::LayerPredictions(const model::Model& model, const cluster::Cluster& cluster,
                                   const cost::Basis& basis, cluster::Precision precision)
    : model_(model), predictor_(model, cluster, basis), precision_(precision) {}

double LayerPredictions::seconds(int layer, int samples) {
  auto known = by_samples_.find(samples);
  if (known == by_samples_.end()) {
    plan::Degrees one;
    one.precision = precision_;
    one.micro_batch = samples;
    one.global_batch = samples;
    known = by_samples_.emplace(samples, predictor_.layer_seconds(plan::expand(one, model_))).first;
  }
  return known->second[layer];
}

}  // namespace nereus::app
