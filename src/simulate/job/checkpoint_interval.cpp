#include "simulate/job/checkpoint_interval.hpp"

#include <algorithm>
#include <cmath>

namespace nereus::simulate {

double young_interval(double cost, double between) { return std::sqrt(2 * cost * between); }

double daly_interval(double cost, double between) {
  if (cost >= 2 * between) return between;
  return std::sqrt(2 * cost * between) *
             (1 + std::sqrt(cost / (2 * between)) / 3 + cost / (18 * between)) -
         cost;
}

double daly_useful_share(double interval, double cost, double restart, double between) {
  return interval /
         (between * std::exp(restart / between) * std::expm1((interval + cost) / between));
}

BestInterval best_interval(const Availability& trace, const JobRates& rates, Policy policy,
                           double least) {
  constexpr double kGrowth = 1.0905077326652577;  // 2^(1/8)
  BestInterval best;
  policy.checkpoint_steps = 0;
  // More checkpoints than that would take long to play, and are never worth their time.
  constexpr double kMostCheckpoints = 1e5;
  const double first = std::max(least, trace.duration() / kMostCheckpoints);
  for (double interval = first; interval < trace.duration() * kGrowth; interval *= kGrowth) {
    policy.checkpoint_every = interval;
    const double samples = play_job(trace, rates, policy).samples;
    if (samples >= best.samples) best = {interval, samples};
  }
  return best;
}

}  // namespace nereus::simulate
