// The moments of a trace at which a policy has something to decide: changes, and before them the
// notices that it can use. Inside simulate/job only.
//
//   for (const Moment& moment : moments_of(trace, policy)) ...
#pragma once

#include <optional>
#include <vector>

#include "simulate/job/availability.hpp"
#include "simulate/job/policy.hpp"

namespace nereus::simulate {

struct Moment {
  double time = 0;
  double notice = 0;  // above 0: of what goes so many seconds later
  std::vector<int> added{}, removed{};
  // Seconds until the loss of removed[i] is seen, where the trace says.
  std::vector<std::optional<double>> seen{};
};

// In order of time. The first is the begin of the trace, with whoever is there then. Who lives from
// copies is told as soon as anybody is; who saves first, when a checkpoint must begin so that it
// ends in time, and not at all where it does not fit.
std::vector<Moment> moments_of(const Availability& trace, const Policy& policy);

}  // namespace nereus::simulate
