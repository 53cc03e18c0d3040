// The cost of owning and running the machines of a study.
//
//   $/h of a node = its list price                                    (base = "catalogue")
//                 + sum over resources (amount - the machine's amount) x unit price
//   $/h of a node = node + devices x device + sum amount x unit price  (base = "none")
//   + electricity x watts                                              (both)
//
// Prices without "/h" are paid once, and are spread evenly over `lifetime`. Watts are computed in
// the same way: a device's rated power, plus (amount - the machine's amount) x unit watts, plus
// `node_watts`. All of this power except that of the devices is used all the time.
//
//   const Running r = running(prices, machine.cluster, cluster);
//   double usd = r.usd_per_s * seconds;
#pragma once

#include <array>

#include "search/explore/study_axis.hpp"

namespace nereus::explore {

// One unit is one SI unit of the axis: a byte, a byte per second, a FLOP/s.
struct Prices {
  bool from_catalogue = true;
  double node_usd_per_s = 0;                 // base = "none"
  double device_usd_per_s = 0;               // base = "none"
  std::array<double, kNumAxes> usd_per_s{};  // per unit of a resource, on one device
  std::array<double, kNumAxes> watts{};
  double node_watts = 0;
  double usd_per_joule = 0;
  double lifetime = 0;  // seconds; 0 = not stated
  bool operator==(const Prices&) const = default;
};

// Totals of all machines; 0 = unknown.
struct Running {
  double usd_per_s = 0;
  double device_watts = 0;  // rated
  double other_watts = 0;
  double watts() const { return device_watts + other_watts; }
};

// `own` is the machine before the axes were set.
Running running(const Prices& prices, const cluster::Cluster& own, const cluster::Cluster& cluster);

// Joules of one step: devices as in search/regular/objective.hpp, the rest all the time.
double joules(const Running& running, double step, double busy);

}  // namespace nereus::explore
