// The models in DeepPool's released profiles as blocks for planning (data/deeppool). Only for use
// inside reproduce/.
//
// VGG-16 and wide ResNet-101-2 are chains, as measured: a bottleneck is one block. Inception-v3 is
// the graph of our model. Its profile has every convolution and pool in order, but no
// concatenation, last pool or classifier: for these, our cost model's prediction on an A100 is
// used.
#pragma once

#include <string>
#include <vector>

#include "search/burst/burst_costs.hpp"

namespace nereus::app {

struct DeepPoolModel {
  std::string name{};     // "vgg16"
  std::string profile{};  // "A100_vgg"
  std::vector<burst::BlockCosts> blocks{};
  std::vector<burst::Edge> edges{};
  std::vector<std::string> notes{};
};

std::vector<std::string> deeppool_profiles();  // A100_vgg, A100_wrn, A100_inception

// A released profile, or the text of a user's .prof file.
DeepPoolModel deeppool_model(const std::string& profile);

}  // namespace nereus::app
