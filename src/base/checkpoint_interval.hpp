// How often to save: the seconds of training between two checkpoints that take `cost` seconds each,
// if failures come every `between` seconds on average, without notice.
//
//   Young (1974)   sqrt(2 cost between)
//   Daly (2006)    sqrt(2 cost between) (1 + sqrt(cost / (2 between)) / 3 + cost / (18 between))
//                  - cost; or `between` if cost >= 2 between
//
// Daly's share of time that is useful, under Poisson failures and a restart of R seconds:
//   interval / (between e^(R / between) (e^((interval + cost) / between) - 1))
//
//   const double seconds = daly_interval(50, 3600);
#pragma once

namespace nereus {

double young_interval(double cost, double between);
double daly_interval(double cost, double between);
double daly_useful_share(double interval, double cost, double restart, double between);

}  // namespace nereus
