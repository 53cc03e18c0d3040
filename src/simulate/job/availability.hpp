// Which machines are there when: the trace of a job on spot machines, or of a cluster whose nodes
// fail and come back.
//
//   Availability trace = read_availability("bamboo/p3-trace.csv");   // availability_file.hpp
//   Availability made = poisson_failures({.nodes = 128, .mean_time_between_failures = 3.6e6, ...});
//   for (const AvailabilityEvent& event : trace.events) ...
//
// Invariants (first_fault checks all of them): events in order of time, within [begin, end]; a
// node comes only where it is away and goes only where it is there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nereus::simulate {

struct AvailabilityEvent {
  double time = 0;  // seconds
  int node = 0;     // index into Availability::nodes
  bool added = true;
  // Of one that goes, where the trace knows: seconds until that is seen; less than 0: it was known
  // so long before.
  std::optional<double> seen{};
  bool operator==(const AvailabilityEvent&) const = default;
};

struct Availability {
  std::string name;
  std::vector<std::string> nodes;
  std::vector<AvailabilityEvent> events;
  double begin = 0;  // seconds; of the first event
  double end = 0;
  std::vector<std::string> notes;  // what the source leaves open, and how it was taken
  bool operator==(const Availability&) const = default;

  double duration() const { return end - begin; }
};

struct AvailabilitySummary {
  int least = 0, most = 0;  // machines, after the events of the first moment
  double mean = 0;          // over time
  int added = 0, removed = 0;
  int changes = 0;  // moments with events, beside the first
  double node_hours = 0;
};
AvailabilitySummary summary_of(const Availability& trace);

// In words; empty where the invariants hold.
std::string first_fault(const Availability& trace);

// Steps of a number of machines. Nodes are named as they come; which of them goes is not known and
// drawn evenly, with a seed of its own, so that it is the same in every play.
struct CountStep {
  double time = 0;
  int count = 0;
};
Availability from_counts(std::string name, const std::vector<CountStep>& steps, double end);

// One node less every `period`, from `most` down to `least`: the regular traces of Oobleck's
// artifact are regular_failures(30, 15, period).
Availability regular_failures(int most, int least, double period);

// Every node fails after a time that is exponentially distributed, and is back, or replaced, after
// `repair`.
struct PoissonFailures {
  int nodes = 1;
  double mean_time_between_failures = 0;  // of one node, seconds
  double repair = 0;                      // seconds; 0 = at once
  double duration = 0;
  std::uint64_t seed = 1;
};
Availability poisson_failures(const PoissonFailures& wanted);

// The first `duration` seconds.
Availability cut(Availability trace, double duration);

}  // namespace nereus::simulate
