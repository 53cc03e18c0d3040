// Which machines are available at which time: the trace of a job on spot machines, or of a cluster
// whose nodes fail and are repaired.
//
//   Availability trace = read_availability("bamboo/p3-trace.csv");   // availability_file.hpp
//   Availability made = poisson_failures({.nodes = 128, .mean_time_between_failures = 3.6e6, ...});
//   for (const AvailabilityEvent& event : trace.events) ...
//
// Invariants (first_fault checks all of them): events are in order of time, within [begin, end]; a
// node is only added while it is absent, and only removed while it is present.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nereus::simulate {

struct AvailabilityEvent {
  double time = 0;  // seconds
  int node = 0;     // index in Availability::nodes
  bool added = true;
  // For a removal, if the trace has it: seconds until the loss is detected. A negative number means
  // that the removal was known that many seconds before.
  std::optional<double> seen{};
  bool operator==(const AvailabilityEvent&) const = default;
};

struct Availability {
  std::string name;
  std::vector<std::string> nodes;
  std::vector<AvailabilityEvent> events;
  double begin = 0;  // seconds; time of the first event
  double end = 0;
  std::vector<std::string> notes;  // what the source does not specify, and what was assumed
  bool operator==(const Availability&) const = default;

  double duration() const { return end - begin; }
};

struct AvailabilitySummary {
  int least = 0, most = 0;  // number of machines, after the events of the first moment
  double mean = 0;          // over time
  int added = 0, removed = 0;
  int changes = 0;  // moments with events, except the first
  double node_hours = 0;
};
AvailabilitySummary summary_of(const Availability& trace);

// A description of the first violated invariant; empty if all hold.
std::string first_fault(const Availability& trace);

// A number of machines from a certain time on. Nodes are named in order of arrival. The source does
// not state which nodes leave, so these are drawn uniformly with a fixed seed, and are the same in
// every simulation.
struct CountStep {
  double time = 0;
  int count = 0;
};
Availability from_counts(std::string name, const std::vector<CountStep>& steps, double end);

// One node less every `period`, from `most` down to `least`. The regular traces of Oobleck's
// artifact are regular_failures(30, 15, period).
Availability regular_failures(int most, int least, double period);

// Every node fails after an exponentially distributed time, and is back, or replaced, after
// `repair`.
struct PoissonFailures {
  int nodes = 1;
  double mean_time_between_failures = 0;  // per node, seconds
  double repair = 0;                      // seconds; 0 = immediately
  double duration = 0;
  std::uint64_t seed = 1;
};
Availability poisson_failures(const PoissonFailures& wanted);

// Keeps the first `duration` seconds of the trace.
Availability cut(Availability trace, double duration);

}  // namespace nereus::simulate
