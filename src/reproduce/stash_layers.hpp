// How layers and gradient bytes make communication stalls: a model fitted to predicted steps of
// ResNet-10 to -152 with and without batch norm and VGG-11 to -19 with and without. Inside
// reproduce/ only.
//
//   stall = max(d, a tensors + b bytes - c backward)          a, b, c, d >= 0
//
// Every sum costs its start-up (a) and its bytes (b), the backward pass hides what it can (c), and
// what the last sums take stays (d). Fitted by least squares of the error as a share of the step:
// for each stall that may be d the points above it give a, b and c, until the points above stay the
// same. What is left over, and what a network has that the fit did not see (leave one out), are
// given as shares of the step too.
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
  double stall = 0;     // seconds, as predicted sum by sum
  double step = 0;      // seconds, with the stall
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
  double median_error = 0;  // of the step
  double left_out_median_error = 0;
  double left_out_worst_error = 0;
  std::string worst{};      // of these the network
  int hidden_networks = 0;  // whose stall is the least one
  std::vector<LayerPoint> points{};
};

// The 24 networks.
std::vector<StashNetwork> layer_study_networks();

LayerFit fit_layers(const std::vector<StashNetwork>& networks, const StashMachine& machine,
                    const StashOptions& options, int batch);
// The same of points that are known; at least four.
LayerFit fit_points(std::vector<LayerPoint> points);

}  // namespace nereus::app
