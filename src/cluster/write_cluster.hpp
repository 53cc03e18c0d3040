// Clusters as tables, in the schema of cluster/read.hpp.
//
//   std::string text = cluster_to_json(cluster);                  // for plan files
//   cluster_from_value(spec::parse_json(text, "plan"), errors)    // == cluster
#pragma once

#include <string>

#include "cluster/cluster.hpp"
#include "spec/value.hpp"

namespace nereus::cluster {

// kRaw: SI numbers under keys with the unit, all fields. kWritten: "80 GiB", without fields that
// are not stated; people edit this form, and --set applies to it.
enum class Form { kRaw, kWritten };

spec::Value device_to_value(const Device& device, Form form);
spec::Value node_to_value(const Node& node, Form form);
spec::Value cluster_to_value(const Cluster& cluster, Form form);

std::string cluster_to_json(const Cluster& cluster);  // one line, Form::kRaw

}  // namespace nereus::cluster
