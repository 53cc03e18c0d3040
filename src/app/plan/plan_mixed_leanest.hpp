// Whether the leanest plan fits a cluster of several kinds of node: all state divided (ZeRO-3), all
// recomputed, activations on the device or in host memory. Asked without a search, in milliseconds:
// for sizes of which many have to be tried. Inside app/ only.
//
// Who takes part: all groups, or all but one (whose host memory may be what is too small).
//
//   LeanestPlan(inputs, choices, headroom).find(more_nodes, 64);
#pragma once

#include "app/plan/plan_verb.hpp"

namespace nereus::app {

class LeanestPlan {
 public:
  // All must outlive this.
  LeanestPlan(const Inputs& inputs, const search::Choices& choices, double headroom)
      : inputs_(inputs), choices_(choices), room_(1 - headroom) {}

  // The first that fits, in the numbering of mixed::canonical(cluster). Where there is none,
  // another plan may still fit.
  std::optional<plan::Placement> find(const cluster::Cluster& cluster, int batch) const;

 private:
  const Inputs& inputs_;
  const search::Choices& choices_;
  double room_;
};

}  // namespace nereus::app
