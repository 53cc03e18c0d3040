// A mixed cluster in a form that does not depend on how the user wrote the cluster: groups of equal
// nodes are merged, and groups have a fixed order. A search uses this form, so that its answer and
// its time are the same for 1xa+1xb+1xa and 2xa+1xb.
//
//   const Canonical same = canonical(cluster);
//   auto placement = renumbered(found_there, same.rank_of);   // ranks of the given cluster
//
// Nodes are equal if everything except name, provider, price and source is equal. Clusters in which
// the neighbors of a rank matter (network levels with some nodes each, fast domains across nodes)
// are not changed.
#pragma once

#include <optional>
#include <vector>

#include "cluster/cluster.hpp"
#include "plan/placement.hpp"

namespace nereus::mixed {

struct Canonical {
  cluster::Cluster cluster{};
  std::vector<int> rank_of{};  // for each rank of this cluster, the rank of the given cluster
  bool same = true;            // every rank has its number in the given cluster
};

Canonical canonical(const cluster::Cluster& given);

// Teams keep their samples, and ranks their state. Empty if a team's ranks would not be evenly
// spaced.
std::optional<plan::Placement> renumbered(plan::Placement placement,
                                          const std::vector<int>& rank_of);

}  // namespace nereus::mixed
