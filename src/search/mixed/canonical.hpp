// A mixed cluster in a form that does not depend on how it was written down: groups of equal nodes
// are one group, and groups lie in one order. A search works on that form, so that its answer is
// the same for 1xa+1xb+1xa and 2xa+1xb, and takes no longer for the first.
//
//   const Canonical same = canonical(cluster);
//   auto placement = renumbered(found_there, same.rank_of);   // as the given cluster counts ranks
//
// Equal: all but name, provider, price and source. Clusters whose ranks have neighbours that count
// (network levels of some nodes each, fast domains across nodes) stay as they are.
#pragma once

#include <optional>
#include <vector>

#include "cluster/cluster.hpp"
#include "plan/placement.hpp"

namespace nereus::mixed {

struct Canonical {
  cluster::Cluster cluster{};
  std::vector<int> rank_of{};  // the given cluster's rank for each one here
  bool same = true;            // every rank is its own
};

Canonical canonical(const cluster::Cluster& given);

// Teams keep their samples, ranks their state. Nothing where a team would lie at uneven distances.
std::optional<plan::Placement> renumbered(plan::Placement placement,
                                          const std::vector<int>& rank_of);

}  // namespace nereus::mixed
