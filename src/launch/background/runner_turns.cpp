// Turns on a device (job/gate.hpp): what the background is granted of a step, and what it has used.
#include <algorithm>

#include "launch/background/runner.hpp"

namespace nereus::launch {

namespace {

// If turns are cut, gaps are cut too, but only when turns are below half of their maximum.
constexpr double kGapPerShare = 2;
constexpr double kGivenLong = 0.85;       // of the bound, by one step in many for all of them
constexpr double kChangesPerOpening = 8;  // less is mostly lost

}  // namespace

// Whether the running job's pieces have run, so that its work from now on counts. A job with fewer
// ranks than the foreground uses only some of the gates.
bool BackgroundRunner::knows_its_turns() const {
  const auto any = [&](job::Guest guest) {
    return std::any_of(options_.gates.begin(), options_.gates.end(),
                       [&](const job::Gate& gate) { return gate.page().guest == guest; });
  };
  return any(job::Guest::kKnown) && !any(job::Guest::kNew);
}

// Mean over the devices.
double BackgroundRunner::used_turns() const {
  std::int64_t used = 0;
  for (const job::Gate& gate : options_.gates) used += gate.page().used;
  return static_cast<double>(used) * 1e-9 / static_cast<double>(options_.gates.size());
}

void BackgroundRunner::grant_turns() {
  const double share = pace_.share();
  const double grant = std::min(1.0, kGapPerShare * share) * pace_.alone();
  const auto given = static_cast<std::int64_t>(share * most_given() * 1e9);
  for (const job::Gate& gate : options_.gates) {
    gate.page().grant = static_cast<std::int64_t>(grant * 1e9);
    gate.page().most_yield = gives_each_step() ? given : 0;
    gate.page().long_yield = gives_each_step() ? 0 : given;
  }
}

double BackgroundRunner::given_each_step() const {
  return options_.pace.given * options_.pace.bound * pace_.alone();
}

bool BackgroundRunner::gives_each_step() const {
  return given_each_step() >= kChangesPerOpening * options_.change_s;
}

// Seconds of a step in the mean, beyond what it waits anyway.
double BackgroundRunner::most_given() const {
  if (gives_each_step()) return given_each_step();
  const double of_all = kGivenLong * options_.pace.bound - pace_.usual_slowdown();
  return std::max(0.0, of_all) * pace_.alone();
}

}  // namespace nereus::launch
