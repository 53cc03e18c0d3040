#include "app/simulate/job_policies.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/format.hpp"

namespace nereus::app {

using simulate::JobPlay;
using simulate::Policy;

std::vector<std::string> job_policies() { return {"varuna", "oobleck", "ours", "restart"}; }

JobCosts job_costs(const JobRequest& request, const JobAnswer& answer, double network,
                   int devices) {
  JobCosts out;
  const simulate::JobRate& full = answer.rates.by_machines.back();
  out.bandwidth = request.bandwidth.value_or(network);
  if (full.state_bytes > 0 && out.bandwidth <= 0)
    throw_input_error("job.bandwidth", "the bandwidth between machines is not known", {},
                      "--link-bandwidth '10 Gbit/s'");
  if (full.state_bytes > 0) {
    out.load = full.state_bytes / out.bandwidth;
    out.snapshot = full.state_bytes / (simulate::kSnapshotRate * devices);
    out.checkpoint = out.load * std::max(full.stages, 1) / std::max(full.machines, 1);
  }
  if (request.checkpoint) out.checkpoint = *request.checkpoint;
  return out;
}

Policy job_policy(const std::string& name, const JobRequest& request, const JobCosts& costs) {
  const double detect = request.detect.value_or(simulate::kOurDetection);
  Policy out;
  if (name == "varuna") {
    out = simulate::varuna_policy(
        costs.checkpoint, request.restart.value_or(simulate::kVarunaPreemptionWait +
                                                   simulate::kArtifactRendezvous + costs.load));
    out.detect = request.restart ? 0 : simulate::kVarunaPreemptionPoll;
    out.absorbs = false;
  } else if (name == "restart") {
    out = simulate::varuna_policy(
        costs.checkpoint, request.restart.value_or(simulate::kArtifactRendezvous + costs.load));
    out.name = name;
    out.detect = request.restart ? 0 : detect;
    out.absorbs = false;
    out.checkpoint_steps = 0;
  } else if (name == "oobleck") {
    out = simulate::oobleck_policy(request.reconfigure.value_or(0));
    if (!request.reconfigure) {
      out.detect = detect;
      out.bandwidth = costs.bandwidth;
    }
    out.absorbs = false;
  } else {
    out = simulate::our_policy(detect, costs.bandwidth);
    out.restart = request.morph;
    out.look_ahead = request.look_ahead;
  }
  if (out.from_survivors) {
    out.checkpoint = std::min(costs.snapshot, costs.checkpoint);
    out.write = costs.checkpoint;
    out.load = costs.load;
  }
  out.notice = request.notice;
  if (request.checkpoint_every) {
    out.checkpoint_steps = 0;
    out.checkpoint_every = *request.checkpoint_every;
  }
  if (request.checkpoint_steps) out.checkpoint_steps = *request.checkpoint_steps;
  return out;
}

JobPlay play_with_interval(const simulate::Availability& trace, const simulate::JobRates& rates,
                           Policy policy) {
  if (policy.from_survivors && policy.checkpoint_every == 0 && policy.checkpoint_steps == 0 &&
      policy.checkpoint > 0) {
    const JobPlay without = simulate::play_job(trace, rates, policy);
    policy.checkpoint_every = std::max(
        policy.checkpoint,
        daly_interval(policy.checkpoint, trace.duration() / std::max(1, without.rollbacks)));
  }
  return simulate::play_job(trace, rates, policy);
}

void add_assumptions(const JobRequest& request, const JobCosts& costs, JobAnswer& answer) {
  std::vector<std::string>& out = answer.assumptions;
  const auto plays = [&](const char* name) {
    return std::any_of(answer.plays.begin(), answer.plays.end(),
                       [&](const JobPlay& own) { return own.policy == name; });
  };
  out.push_back(
      fmt::format("writing a checkpoint takes {}", format_seconds(Seconds{costs.checkpoint})));
  if (costs.bandwidth > 0)
    out.push_back(fmt::format("state moves at {} per machine; reading a checkpoint takes {}",
                              format_rate(BytesPerSecond{costs.bandwidth}),
                              format_seconds(Seconds{costs.load})));
  if (answer.rates.by_machines.back().state_bytes <= 0)
    out.emplace_back(
        "the table has no state_bytes, so moving and reading state costs nothing, which favours "
        "ours and oobleck");
  if (plays("varuna"))
    out.emplace_back(
        "varuna: polls every 5 s and waits 120 s, then all machines restart from the checkpoint "
        "in storage (--restart-time sets the total time); training stops for a checkpoint every "
        "10 steps");
  if (plays("restart"))
    out.emplace_back(
        "restart: needs all nodes of its plan; restarts from the checkpoint in "
        "storage; training stops for a checkpoint");
  if (plays("oobleck"))
    out.emplace_back(
        "oobleck: every change aborts the step; checkpoints like ours (its released code writes "
        "none)");
  if (plays("ours"))
    out.push_back(
        fmt::format("ours: takes {} to detect a machine that goes silent (a process that dies is "
                    "detected at once){}; takes state from a surviving copy if there is one; "
                    "a machine with a notice hands over its state and leaves; checkpoints "
                    "asynchronously, with {} of exposed time "
                    "each; adds machines if that pays",
                    format_seconds(Seconds{request.detect.value_or(simulate::kOurDetection)}),
                    request.morph > 0 ? fmt::format(", and {} more to change the plan",
                                                    format_seconds(Seconds{request.morph}))
                                      : "",
                    format_seconds(Seconds{std::min(costs.snapshot, costs.checkpoint)})));
  for (const std::string& note : answer.trace.notes) out.push_back(note);
}

}  // namespace nereus::app
