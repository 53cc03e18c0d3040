// How often to save: seconds of training between two checkpoints of `cost` seconds, where failures
// come every `between` seconds on average and none is noticed in advance.
//
//   Young (1974)   sqrt(2 cost between)
//   Daly (2006)    sqrt(2 cost between) (1 + sqrt(cost / (2 between)) / 3 + cost / (18 between))
//                  - cost, and `between` where cost >= 2 between
//   simulated      the best of a grid of intervals, each played through the trace (play.hpp)
//
// Daly's share of time that is useful, under Poisson failures and a restart of R seconds:
//   interval / (between e^(R / between) (e^((interval + cost) / between) - 1))
//
//   const double seconds = daly_interval(50, 3600);
#pragma once

#include "simulate/job/play.hpp"

namespace nereus::simulate {

double young_interval(double cost, double between);
double daly_interval(double cost, double between);
double daly_useful_share(double interval, double cost, double restart, double between);

struct BestInterval {
  double seconds = 0;
  double samples = 0;  // that the job gets done with it
};
// Intervals from `least` to the length of the trace, in steps of about 9 %; of equals the longest.
BestInterval best_interval(const Availability& trace, const JobRates& rates, Policy policy,
                           double least);

}  // namespace nereus::simulate
