// Measured collectives (profile/machine_profile.hpp) as rates and latencies of the network model
// (cost/collectives.hpp), so that the closed form, bounds, search and simulator all use them.
//
// Every formula of the model has the form a x + b y, where x = 1 / rate is the seconds per byte of
// a level and y its seconds per step: a is the formula at rate 1 without latency, b the formula at
// latency 1 without bytes. x and y are fitted to the measured times t by least squares of the
// relative errors,
//   sum over rows of (1 - (a x + b y) / t)^2,   x > 0, y >= 0
// with one fit for the level inside a host, from the rings inside one host, and one for the
// network, from the rings with the most ranks per host. So all ring sizes and collectives of a
// level share two numbers; `error` is the median relative error of the fit. Measured copies between
// a GPU and pinned host memory give the rate of offloading to the host: the rate of the slower
// direction.
// If the ranks of a CPU host use all its cores, those cores also compute the reductions. Then
// nothing overlaps with passes, whatever the stack states (`on_busy_cores`).
//
//   MeasuredNetwork n = fit_network(profile.machine, "CPU");
//   n.inside.rate; n.inside.latency; n.inside.error;        // median of abs(fit / measured - 1)
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cost/collectives.hpp"
#include "profile/machine_profile.hpp"
#include "stack/parameters.hpp"

namespace nereus::cost {

struct LevelFit {
  double rate = 0;  // bytes per second; 0: not measured
  double latency = 0;
  double error = 0;
  int rows = 0;
  bool operator==(const LevelFit&) const = default;
};

struct MeasuredNetwork {
  std::string device{};  // canonical name
  std::string backend{};
  LevelFit inside{};
  LevelFit between{};
  double host_rate = 0;  // bytes per second between device and host memory; 0: not measured
  bool on_busy_cores = false;
  bool empty() const { return inside.rate <= 0 && between.rate <= 0 && host_rate <= 0; }
  bool operator==(const MeasuredNetwork&) const = default;
};

struct MeasuredNetworks {
  std::vector<MeasuredNetwork> list{};
  std::vector<std::string> notes{};                          // notes of the profiles
  const MeasuredNetwork* of(std::string_view device) const;  // nullptr: not measured
};

MeasuredNetwork fit_network(const profile::Machine& machine, const std::string& device);

// Replaces what the cluster and the stack state with what was measured.
void use_measured(Fabric& fabric, Parameters& parameters, const MeasuredNetwork& measured);

}  // namespace nereus::cost
