// The networks of Stash (data/stash/models.csv), as layers with times, and as parameter tensors in
// the order in which PyTorch registers them. Only for use inside reproduce/.
//
// "Without batch norm" either means everywhere, as the experiment intends, or what its code does:
// only the stem and the basic blocks lose their norms, while shortcuts and bottlenecks keep them.
// So ResNet-50, -101 and -152 are in effect the normal networks.
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
  int layer = 0;  // the layer whose backward pass computes its gradient
};

struct StashNetwork {
  std::string name{};
  std::vector<model::LayerKind> layers{};  // in the order of execution
  std::vector<StashTensor> tensors{};      // in the order of registration
  double sample_bytes = 0;                 // copied to the device per sample
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
