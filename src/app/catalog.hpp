// `nereus catalog`: the models, devices, nodes and cloud offers Nereus knows by name.
//
//   for (const cluster::Device& device : catalog_devices("h100")) ...
//
// A filter keeps the entries with a name, family, provider or device that contains it, whatever the
// case; an empty one keeps all. A filter that keeps nothing is an input error with the nearest
// name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/catalogue.hpp"

namespace nereus::app {

struct ModelEntry {
  std::string name;
  std::string family;
  int num_layers = 0;  // transformer blocks, or all layers where it is none
  int hidden = 0;      // 0 where it is no transformer
  int heads = 0;
  int kv_heads = 0;
  int vocab = 0;
  int experts = 0;
  double tokens_per_sample = 0;  // 0 where tokens make no sense
  double parameters = 0;
  double training_flops = 0;  // of one sample: forward and backward, no recompute
  std::string source;
};

std::vector<ModelEntry> catalog_models(std::string_view filter);
std::vector<cluster::Device> catalog_devices(std::string_view filter);
std::vector<cluster::Node> catalog_nodes(std::string_view filter);  // machines one can own
std::vector<cluster::Offer> catalog_offers(std::string_view filter);

}  // namespace nereus::app
