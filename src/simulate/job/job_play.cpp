#include "simulate/job/job_play.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "simulate/job/player.hpp"

namespace nereus::simulate {

std::string_view to_string(Activity activity) {
  constexpr std::string_view names[] = {"useful", "checkpoint", "restart", "lost", "idle"};
  return names[static_cast<int>(activity)];
}

const JobRate& JobRates::of(int machines) const {
  NEREUS_CHECK(!by_machines.empty() && machines >= 0, "a job has plans");
  return by_machines[std::min(static_cast<std::size_t>(machines), by_machines.size() - 1)];
}

const JobRate& JobRates::best_of(int machines) const {
  const JobRate* best = &of(0);
  for (int n = 1; n <= machines && n < static_cast<int>(by_machines.size()); ++n)
    if (of(n).choice() > best->choice()) best = &of(n);
  return *best;
}

JobPlay play_job(const Availability& trace, const JobRates& rates, const Policy& policy) {
  NEREUS_CHECK(first_fault(trace).empty(), "a trace is checked where it is read");
  NEREUS_CHECK(!trace.events.empty() && trace.duration() > 0, "a trace takes time");
  return Player(trace, rates, policy).play();
}

}  // namespace nereus::simulate
