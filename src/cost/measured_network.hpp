// Collectives that were measured (profile/machine_profile.hpp), as the rates and latencies of the
// network model (cost/collectives.hpp), so that closed form, bounds, search and simulator all use
// them.
//
// Every formula of the model is a x + b y of a level's seconds a byte x = 1 / rate and its seconds
// a step y: a is what it gives at rate 1 without latency, b at latency 1 without bytes. x and y are
// those that fit the measured times best, by least squares of the errors' shares,
//   sum over rows of (1 - (a x + b y) / t)^2,   x > 0, y >= 0
// one fit for the level inside a host from the rings that stay in one, one for the network from
// those rings that have most ranks a host. So ring sizes and kinds share two numbers; `error` says
// how far the fit lies from what was measured. Copies between a GPU and pinned host memory, where
// they were measured, are the rate of what is offloaded to it: the slower of the two ways.
// On CPUs of one host whose ranks compute on every core, sums are computed by those cores too:
// nothing of them is hidden behind passes, whatever the stack says (`on_busy_cores`).
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
  std::vector<std::string> notes{};                          // of the profiles they are from
  const MeasuredNetwork* of(std::string_view device) const;  // nullptr: nobody measured it
};

MeasuredNetwork fit_network(const profile::Machine& machine, const std::string& device);

// Puts what was measured in the place of what the cluster and the stack state.
void use_measured(Fabric& fabric, Parameters& parameters, const MeasuredNetwork& measured);

}  // namespace nereus::cost
