// Finds the best checkpoint interval by trying a grid of intervals, each simulated over the trace
// (job_play.hpp). base/checkpoint_interval.hpp has Young's and Daly's rules.
//
//   BestInterval best = best_interval(trace, rates, policy, 10);
#pragma once

#include "base/checkpoint_interval.hpp"
#include "simulate/job/job_play.hpp"

namespace nereus::simulate {

struct BestInterval {
  double seconds = 0;
  double samples = 0;  // that the job completes with this interval
};
// Tries intervals from `least` to the length of the trace, in steps of about 9 %; of equal ones the
// longest is returned.
BestInterval best_interval(const Availability& trace, const JobRates& rates, Policy policy,
                           double least);

}  // namespace nereus::simulate
