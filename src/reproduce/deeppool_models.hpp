// The models of DeepPool's released profiles as blocks to plan (data/deeppool). Inside reproduce/
// only.
//
// VGG-16 and wide ResNet-101-2 are chains, as measured: a bottleneck is one block. Inception-v3 is
// the graph of our model of it; its profile has every convolution and pool in order, and no
// concatenation, last pool or classifier: those take what our cost model predicts on an A100.
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

// The profile itself, or what a user gives in its place: the text of a .prof file.
DeepPoolModel deeppool_model(const std::string& profile);

}  // namespace nereus::app
