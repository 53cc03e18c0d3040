// The objectives of a search: seconds, dollars or joules per step. All are minimized.
//
//   money    price of the nodes x step
//   energy   devices x power x (w step + (1 - w) busy)        w = 0.4: a device that waits for
//            others or for its memory keeps its clock rate and uses about that share of its rated
//            power (w is assumed; the rated power is from the data sheet). Only devices count.
//
// Each objective grows with the step and with the time that a device computes, so lower bounds of
// these two times give lower bounds of all objectives.
//
//   const Rates rates = rates_of(cluster);
//   if (const std::string why = missing(Objective::kMoney, rates); !why.empty()) ...
//   double usd = value_of(Objective::kMoney, prediction.step, prediction.busy, rates);
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cluster/cluster.hpp"

namespace nereus::search {

enum class Objective { kTime, kMoney, kEnergy };
inline constexpr int kNumObjectives = 3;

std::string_view to_string(Objective objective);  // "time", "money", "energy"

// Totals of all machines; 0 = unknown.
struct Rates {
  double usd_per_s = 0;
  double watts = 0;
};
Rates rates_of(const cluster::Cluster& cluster);

// Whether the objective can be computed for these machines.
bool is_known(Objective objective, const Rates& rates);

double value_of(Objective objective, double step, double busy, const Rates& rates);

}  // namespace nereus::search
