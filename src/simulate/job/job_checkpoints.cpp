#include "simulate/job/job_checkpoints.hpp"

#include <algorithm>
#include <cmath>

namespace nereus::simulate {

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
