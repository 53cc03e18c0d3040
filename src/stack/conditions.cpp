#include "stack/conditions.hpp"

#include <algorithm>

namespace nereus::cost {

namespace {

std::vector<std::string> features_of(const plan::Degrees& d) {
  std::vector<std::string> features;
  if (d.zero > 0) features.push_back("ZeRO-" + std::to_string(d.zero));
  if (d.pp > 1) features.push_back("schedule " + std::string(plan::to_string(d.schedule)));
  if (d.cp > 1) features.emplace_back("context parallelism");
  if (!d.offload.none()) features.emplace_back("offload");
  return features;
}

}  // namespace

std::string family_of(const model::Model& model) {
  if (model.table_layer() >= 0) return "recommender";
  if (model.cnn) return "CNN";
  if (!model.transformer) return "graph";
  const model::TransformerShape& shape = *model.transformer;
  if (shape.patch > 0) return "vision transformer";
  if (model::has_scans(shape)) return "state space";
  if (shape.experts > 0) return "experts";
  return shape.causal ? "decoder" : "encoder";
}

std::string width_of(cluster::Precision precision) {
  switch (precision) {
    case cluster::Precision::kFp16:
    case cluster::Precision::kBf16:
      return "16-bit";
    case cluster::Precision::kFp8:
    case cluster::Precision::kMxfp8:
      return "8-bit";
    case cluster::Precision::kNvfp4:
      return "4-bit";
    default:
      return "32-bit";
  }
}

Conditions conditions_of(const model::Model& model, const cluster::NodeGroup& nodes,
                         int num_devices, const plan::Degrees& degrees, const Stack& stack,
                         double filled) {
  Conditions c;
  c.family = family_of(model);
  c.stack = stack.name;
  c.software = stack.software;
  for (const std::string_view name :
       device_chain(nodes.node.device.short_name, stack.device_parents)) {
    const std::string_view family = family_of(name);
    if (std::find(c.devices.begin(), c.devices.end(), family) == c.devices.end())
      c.devices.emplace_back(family);
  }
  c.precision = width_of(degrees.precision);
  c.fill = filled < 0.5 ? "under half" : filled < 0.75 ? "half" : "nearly full";
  c.num_devices = num_devices;
  c.size = num_devices <= std::max(nodes.node.num_devices, nodes.node.domain()) ? "one node"
                                                                                : "several nodes";
  c.features = features_of(degrees);
  return c;
}

}  // namespace nereus::cost
