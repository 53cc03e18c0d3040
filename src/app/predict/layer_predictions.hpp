// Predicted seconds of each layer of a model on one device, by samples; measured seconds if the
// basis has profiles. Only for use inside app/.
//
//   LayerPredictions layers(model, cluster, basis, precision);
//   layers.seconds(3, 8);            // forward and backward of layer 3 for 8 samples, no launches
#pragma once

#include <map>
#include <vector>

#include "predict/general/general_predictor.hpp"

namespace nereus::app {

class LayerPredictions {
 public:
  // All arguments must outlive this object.
  LayerPredictions(const model::Model& model, const cluster::Cluster& cluster,
                   const cost::Basis& basis, cluster::Precision precision);
  double seconds(int layer, int samples);

 private:
  const model::Model& model_;
  cost::GeneralPredictor predictor_;
  cluster::Precision precision_;
  std::map<int, std::vector<double>> by_samples_;
};

}  // namespace nereus::app
