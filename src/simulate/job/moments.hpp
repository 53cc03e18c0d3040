// The times in a trace at which a policy must decide something: changes, and the earlier notices of
// changes that the policy can use. Only for use inside simulate/job.
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
  double notice = 0;  // above 0: a notice; the removals follow that many seconds later
  std::vector<int> added{}, removed{};
  // Seconds until the loss of removed[i] is detected, if the trace has it.
  std::vector<std::optional<double>> seen{};
};

// In order of time. The first moment is the beginning of the trace, with the machines available
// then. A policy that uses surviving copies gets a notice at once. A policy that saves a checkpoint
// gets the notice when it must start saving to be done in time, and gets none if there is not
// enough time.
std::vector<Moment> moments_of(const Availability& trace, const Policy& policy);

}  // namespace nereus::simulate
