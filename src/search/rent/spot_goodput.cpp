#include "search/rent/spot_goodput.hpp"

#include <algorithm>

#include "simulate/job/job_checkpoints.hpp"
#include "simulate/job/policy.hpp"

namespace nereus::rent {

Preemptions preemptions_of(const simulate::Availability& trace) {
  const simulate::AvailabilitySummary s = simulate::summary_of(trace);
  Preemptions out;
  if (s.node_hours > 0) out.per_second = s.removed / (s.node_hours * 3600);
  if (s.most > 0) out.present = s.mean / s.most;
  return out;
}

double spot_goodput(const Preemptions& p, const SpotJob& job) {
  const double rate = p.per_second * p.present * job.machines;
  if (rate <= 0) return p.present;
  const double move = job.bandwidth > 0 ? job.state_bytes / job.bandwidth : 0;
  if (job.copies) {
    const double lost = simulate::kOurDetection + job.step / 2 + 2 * move;
    return p.present * std::max(0.0, 1 - rate * lost);
  }
  const double save = job.state_bytes / simulate::kSnapshotRate;
  const double between = 1 / rate;
  const double interval = std::max(job.step, daly_interval(save, between));
  return p.present * daly_useful_share(interval, save, simulate::kOurDetection + move, between);
}

}  // namespace nereus::rent
