// What a label can still become: the bounds of the burst search (search/burst/burst_front.hpp).
// Inside search/burst only.
//
// A label whose completions all lie behind the plans known is of no use: a plan that is new lies
// before one of the corners (seconds of the next known, rank-seconds of this one), so for all
// weights (u, v) at once, with `rest` the least cost of what is still missing,
//
//   u t + v c + rest(u, v) <= max over the corners that both t and c can still reach of u T + v C
#pragma once

#include <vector>

#include "search/burst/least.hpp"

namespace nereus::burst {

class Bounds {
 public:
  // weights as usual_weights: seconds alone, rank-seconds alone, others. known: any plans.
  // before: empty, or plans of which one is at least as good as any that is not behind `known`;
  // corners that none of them is before are closed.
  Bounds(const std::vector<Weight>& weights, std::vector<KnownPlan> known,
         const std::vector<KnownPlan>& before);

  // `rest` has a number for each weight. Not for several threads at once.
  bool useful(const double* rest, double seconds, double rank_seconds);

 private:
  const std::vector<Weight>& weights_;
  std::vector<KnownPlan> corners_;
  bool all_ = false;                  // nothing is known: all are of use
  std::size_t first_ = 0, last_ = 0;  // corners in reach of the last label
  std::size_t weight_ = 2;            // by which a label was dropped last
  // By weight and power of two: the most over as many corners from each on. num_corners apart.
  std::vector<std::vector<double>> most_;
};

}  // namespace nereus::burst
