// How the number of layers and the bytes of gradients cause communication stalls: a model fitted to
// predicted steps of ResNet-10 to -152 and VGG-11 to -19, with and without batch norm. Only for use
// inside reproduce/.
//
//   stall = max(d, a tensors + b bytes - c backward)          a, b, c, d >= 0
//
// Every all-reduce has a start-up cost (a) and a cost per byte (b), the backward pass overlaps with
// a part (c), and the time of the last all-reduces stays (d). Fitted by least squares of the error
// as a share of the step: for each possible d, the points above it give a, b and c, until the set
// of points above does not change. The remaining error, and the error for a network that the fit
// did not see (leave one out), are shares of the step too.
//
//   const LayerFit fit = fit_layers(layer_study_networks(), stash_machine("p3.16xlarge"), options,
//                                   32);
#pragma once

#include <string>
#include <vector>

#include "reproduce/stash_steps.hpp"

namespace nereus::app {

struct LayerPoint {
  std::string name{};
  double tensors = 0;
  double bytes = 0;
  double backward = 0;  // seconds
  double stall = 0;     // seconds, predicted all-reduce by all-reduce
  double step = 0;      // seconds, including the stall
};

struct LayerModel {
  double per_tensor = 0;  // seconds
  double per_byte = 0;    // seconds
  double hidden = 0;      // share of the backward pass
  double least = 0;       // seconds
  double stall(const LayerPoint& point) const;
};

struct LayerFit {
  LayerModel model{};
  double median_error = 0;  // as a share of the step
  double left_out_median_error = 0;
  double left_out_worst_error = 0;
  std::string worst{};      // the network with the largest error
  int hidden_networks = 0;  // number of networks with the minimal stall
  std::vector<LayerPoint> points{};
};

// The 24 networks.
std::vector<StashNetwork> layer_study_networks();

LayerFit fit_layers(const std::vector<StashNetwork>& networks, const StashMachine& machine,
                    const StashOptions& options, int batch);
// Like fit_layers(), for given points; needs at least four.
LayerFit fit_points(std::vector<LayerPoint> points);

}  // namespace nereus::app
