// Clusters as tables, in the schema of cluster/read.hpp.
//
//   std::string text = cluster_to_json(cluster);                  // goes into plan files
//   cluster_from_value(spec::parse_json(text, "plan"), errors)    // == cluster
#pragma once

#include <string>

#include "cluster/cluster.hpp"
#include "spec/value.hpp"

namespace nereus::cluster {

// kRaw: SI numbers under keys that name the unit, every field. kWritten: "80 GiB", what is not
// stated left out; what people edit and --set works on.
enum class Form { kRaw, kWritten };

spec::Value device_to_value(const Device& device, Form form);
spec::Value node_to_value(const Node& node, Form form);
spec::Value cluster_to_value(const Cluster& cluster, Form form);

std::string cluster_to_json(const Cluster& cluster);  // one line, Form::kRaw

}  // namespace nereus::cluster
