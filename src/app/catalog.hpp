// `nereus catalog`: the models, devices, nodes and cloud offers that Nereus knows by name.
//
//   for (const cluster::Device& device : catalog_devices("h100")) ...
//
// A filter keeps entries whose name, family, provider or device contains it, ignoring case; an
// empty filter keeps all. A filter that keeps nothing is an input error that suggests the nearest
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
  int num_layers = 0;  // transformer blocks; for other models, all layers
  int hidden = 0;      // 0 if it is not a transformer
  int heads = 0;
  int kv_heads = 0;
  int vocab = 0;
  int experts = 0;
  double tokens_per_sample = 0;  // 0 if the model has no tokens
  double parameters = 0;
  double training_flops = 0;  // per sample: forward and backward, without recompute
  std::string source;
};

std::vector<ModelEntry> catalog_models(std::string_view filter);
std::vector<cluster::Device> catalog_devices(std::string_view filter);
std::vector<cluster::Node> catalog_nodes(std::string_view filter);  // machines that one can buy
std::vector<cluster::Offer> catalog_offers(std::string_view filter);

}  // namespace nereus::app
