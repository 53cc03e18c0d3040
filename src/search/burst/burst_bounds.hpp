// Bounds of the burst search (search/burst/burst_front.hpp): the least costs of the plans that a
// label (search/burst/labels.hpp) can still become. Only for use inside search/burst.
//
// A label can be dropped if all its completions are dominated by known plans. A completion that is
// not dominated lies below a corner of the known front (seconds of a known plan, rank-seconds of
// the known plan before it). So a useful label with t seconds and c rank-seconds satisfies for all
// weights (u, v), with `rest` the least cost of the part of the plan that is still missing:
//
//   u t + v c + rest(u, v) <= max of u T + v C over the corners (T, C) with T >= t and C >= c
#pragma once

#include <vector>

#include "search/burst/least.hpp"

namespace nereus::burst {

class Bounds {
 public:
  // `weights` are as in usual_weights: seconds only, rank-seconds only, then others. `known` are
  // any plans. `before` is empty, or a list of plans that bounds what is left to find: every plan
  // that `known` does not dominate must be dominated by a plan of `before`. A corner is then
  // dropped if no plan of `before` is below it.
  Bounds(const std::vector<Weight>& weights, std::vector<KnownPlan> known,
         const std::vector<KnownPlan>& before);

  // `rest` has one number per weight. Only one thread may call it at a time.
  bool useful(const double* rest, double seconds, double rank_seconds);

 private:
  const std::vector<Weight>& weights_;
  std::vector<KnownPlan> corners_;
  bool all_ = false;                  // nothing is known: all labels are useful
  std::size_t first_ = 0, last_ = 0;  // corners that the last label can still reach
  std::size_t weight_ = 2;            // the weight that dropped the last label
  // By weight and power of two: the maximum over that many corners, starting at each corner.
  // Weights are num_corners apart.
  std::vector<std::vector<double>> most_;
};

}  // namespace nereus::burst
