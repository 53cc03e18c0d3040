// The networks of Stash (data/stash/models.csv) as layers with times and as parameter tensors in
// the order in which PyTorch registers them. Inside reproduce/ only.
//
// Without batch norm: everywhere, as the experiment means it, or as its code does it. There the
// stem and the basic blocks lose theirs and the shortcuts and bottlenecks keep them, so that
// ResNet-50, -101 and -152 are in effect the normal networks.
//
//   const StashNetwork net = stash_network("resnet18");
//   net.tensors.size();                                  // 62
#pragma once

#include <string>
#include <vector>

#include "model/model.hpp"

namespace nereus::app {

enum class Norms { kAll, kNone, kAsCoded };

struct StashTensor {
  std::string name{};
  double elements = 0;
  int layer = 0;  // whose backward pass makes its gradient
};

struct StashNetwork {
  std::string name{};
  std::vector<model::LayerKind> layers{};  // in order of execution
  std::vector<StashTensor> tensors{};      // in order of registration
  double sample_bytes = 0;                 // copied to the device for each sample
  double parameters() const;
};

// "resnet10" to "resnet152", "vgg11" to "vgg19", "vgg11-bn" ..., "alexnet", "squeezenet1_0",
// "mobilenet_v2", "shufflenet_v2_x0_5" or "bert-large": its question-answering form, 384 tokens.
StashNetwork stash_network(const std::string& name, Norms norms = Norms::kAll);

// Rows of data/stash/models.csv.
struct StashModelRow {
  std::string name{};
  int tensors = 0;
  double parameters = 0;
};
std::vector<StashModelRow> stash_model_rows();

}  // namespace nereus::app
