// Bounds of the burst search (search/burst/burst_front.hpp): what a label can still become. Only
// for use inside search/burst.
//
// A label can be dropped if all its completions are dominated by known plans. A completion that is
// not dominated lies below a corner of the known front (seconds of the next known plan,
// rank-seconds of this one). So with `rest` the least cost of the part that is still missing, a
// useful label satisfies for all weights (u, v):
//
//   u t + v c + rest(u, v) <= max of u T + v C over the corners (T, C) with T >= t and C >= c
#pragma once

#include <vector>

#include "search/burst/least.hpp"

namespace nereus::burst {

class Bounds {
 public:
  // `weights` are as in usual_weights: seconds only, rank-seconds only, then others. `known` are
  // any plans. `before` is empty, or a list of plans such that every plan that `known` does not
  // dominate is dominated by one of them; a corner that none of these plans lies below is closed.
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
