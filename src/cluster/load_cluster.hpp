// A cluster from a user's text: the name of a file, or a SPEC with nodes of the catalog.
//
//   load_cluster("16xdgx-h100");
//   load_cluster("4xp4d.24xlarge+8xg5.48xlarge");
//   load_cluster("4x\"n1-standard-8 + 1xT4\"");
//   load_cluster("lab.toml", {{"cluster.groups.0.node.network", "100 Gbit/s"}});   // --set
//
// SPEC = COUNTxNODE[+COUNTxNODE...]. COUNT ends at the first x; a NODE with "+" or a space must be
// quoted. A switch connects its nodes at their network rate. Text that names an existing file, or
// ends in .toml, .yaml, .yml or .json, is a file (cluster/read.hpp has its schema). Overrides are
// applied to the description with its units written out. The network level that was derived from
// the nodes is then derived again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/catalogue.hpp"
#include "cluster/cluster.hpp"

namespace nereus::cluster {

struct Override {
  std::string path;   // "groups.0.count", also as "cluster.groups.0.count"
  std::string value;  // "4", "100 Gbit/s"
};

// Throws Errors with all errors. The cluster is complete (cluster/check_cluster.hpp).
Cluster load_cluster(std::string_view spec_or_path, const std::vector<Override>& overrides = {},
                     const Catalogue& known = builtin_catalogue());

// Only the SPEC form; adds errors to `errors`. Does not check completeness.
Cluster parse_cluster_spec(std::string_view spec, ErrorList& errors,
                           const Catalogue& known = builtin_catalogue());

}  // namespace nereus::cluster
