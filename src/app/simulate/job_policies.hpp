// The policies of a job simulation, with costs from the job's bytes and links. Only for use inside
// app/.
//
//   const JobCosts costs = job_costs(request, answer, node.network.value, node.num_devices);
//   JobPlay play = play_with_interval(trace, rates, job_policy("ours", request, costs));
#pragma once

#include <string>

#include "app/simulate/simulate_job.hpp"

namespace nereus::app {

struct JobCosts {
  double checkpoint = 0;
  double snapshot = 0;  // copy to the host's memory, if the rest is written asynchronously
  double load = 0;
  double bandwidth = 0;
};

JobCosts job_costs(const JobRequest& request, const JobAnswer& answer, double network, int devices);

simulate::Policy job_policy(const std::string& name, const JobRequest& request,
                            const JobCosts& costs);

// A policy that restores state from surviving copies chooses its checkpoint interval by the number
// of rollbacks, in which machines are lost with the last copy of some state. A simulation without
// checkpoints counts these rollbacks.
simulate::JobPlay play_with_interval(const simulate::Availability& trace,
                                     const simulate::JobRates& rates, simulate::Policy policy);

// Adds the assumptions, in words, to the answer.
void add_assumptions(const JobRequest& request, const JobCosts& costs, JobAnswer& answer);

}  // namespace nereus::app
