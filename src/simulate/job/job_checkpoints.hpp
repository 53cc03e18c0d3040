// How often to save, by trying: the best of a grid of intervals, each played through the trace
// (job_play.hpp). Young's and Daly's rules: base/checkpoint_interval.hpp.
//
//   BestInterval best = best_interval(trace, rates, policy, 10);
#pragma once

#include "base/checkpoint_interval.hpp"
#include "simulate/job/job_play.hpp"

namespace nereus::simulate {

struct BestInterval {
  double seconds = 0;
  double samples = 0;  // that the job gets done with it
};
// Intervals from `least` to the length of the trace, in steps of about 9 %; of equals the longest.
BestInterval best_interval(const Availability& trace, const JobRates& rates, Policy policy,
                           double least);

}  // namespace nereus::simulate
