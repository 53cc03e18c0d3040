// What a job's own bytes and links make of the policies that it is played under. Inside app/ only.
//
//   const JobCosts costs = job_costs(request, answer, node.network.value, node.num_devices);
//   JobPlay play = play_with_interval(trace, rates, job_policy("ours", request, costs));
#pragma once

#include <string>

#include "app/simulate/simulate_job.hpp"

namespace nereus::app {

struct JobCosts {
  double checkpoint = 0;
  double snapshot = 0;  // to the host's memory, where the rest is written beside training
  double load = 0;
  double bandwidth = 0;
};

JobCosts job_costs(const JobRequest& request, const JobAnswer& answer, double network, int devices);

simulate::Policy job_policy(const std::string& name, const JobRequest& request,
                            const JobCosts& costs);

// Who lives from copies saves as often as losses that no copy survives are worth: counted in a play
// without checkpoints.
simulate::JobPlay play_with_interval(const simulate::Availability& trace,
                                     const simulate::JobRates& rates, simulate::Policy policy);

// In words, for the answer.
void add_assumptions(const JobRequest& request, const JobCosts& costs, JobAnswer& answer);

}  // namespace nereus::app
