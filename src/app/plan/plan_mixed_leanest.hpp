// Whether the plan with the least memory fits on a cluster with several kinds of node: all state
// sharded (ZeRO-3), full recompute, activations on the device or in host memory. This check takes
// milliseconds and needs no search, so many sizes can be tried. Only for use inside app/.
//
// The plan uses all groups of nodes, or all except one (whose host memory may be too small).
//
//   LeanestPlan(inputs, choices, headroom).find(more_nodes, 64);
#pragma once

#include "app/plan/plan_verb.hpp"

namespace nereus::app {

class LeanestPlan {
 public:
  // All arguments must outlive this object.
  LeanestPlan(const Inputs& inputs, const search::Choices& choices, double headroom)
      : inputs_(inputs), choices_(choices), room_(1 - headroom) {}

  // The first such plan that fits, with ranks numbered as in mixed::canonical(cluster). If there is
  // none, another plan may still fit.
  std::optional<plan::Placement> find(const cluster::Cluster& cluster, int batch) const;

 private:
  const Inputs& inputs_;
  const search::Choices& choices_;
  double room_;
};

}  // namespace nereus::app
