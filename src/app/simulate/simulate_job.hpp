// `nereus simulate --availability`: simulates a whole job on machines that come and go, under
// several policies (simulate/job).
//
//   JobAnswer a = simulate_job({.predict = {...}, .availability = "bamboo/p3-trace.csv"});
//   a.plays[0].goodput();
//
// With a mean time between failures instead of a trace, it simulates a dedicated cluster whose
// nodes fail and are repaired, with and without spare nodes, and finds the best checkpoint
// interval.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/predict/predict_plan.hpp"
#include "simulate/job/job_checkpoints.hpp"
#include "simulate/job/job_play.hpp"

namespace nereus::app {

struct JobRequest {
  PredictRequest predict;                  // model, cluster (its kind of node), batch, precision
  std::string availability;                // a file, a known trace or a generated one
  std::string rates_file;                  // a table that replaces model and cluster
  std::optional<double> samples_per_step;  // of the table
  std::vector<std::string> policies;       // empty: all
  std::optional<double> mtbf;              // seconds per node: a dedicated cluster
  double repair = 3600;                    // seconds until a failed node is back
  std::optional<int> spares;         // nodes in addition to the plan's; empty: 0 to 4 are tried
  std::optional<double> duration;    // seconds; empty: the trace's, or 30 days
  std::optional<double> checkpoint;  // seconds per checkpoint; empty: from bytes
  std::optional<double> checkpoint_every;  // seconds of training; empty: the policy's default
  std::optional<int> checkpoint_steps;     // the same, in steps
  std::optional<double> restart;           // seconds, for varuna and restart
  std::optional<double> reconfigure;       // seconds, for oobleck
  std::optional<double> detect;            // seconds, for ours
  double morph = 0;                        // additional seconds, for ours: to plan, meet and agree
  double notice = 0;
  double look_ahead = 0;
  std::optional<double> bandwidth;     // bytes/s per machine; empty: its network
  std::optional<double> usd_per_hour;  // per machine; empty: its spot price
  std::uint64_t seed = 1;
};

struct JobAnswer {
  simulate::Availability trace;
  simulate::AvailabilitySummary summary;
  simulate::JobRates rates;
  std::vector<simulate::JobPlay> plays;
  std::optional<double> usd_per_hour;  // per machine
  std::string subject;                 // what is trained, and where
  std::vector<std::string> assumptions;
  int plans = 0;
  double plan_seconds = 0;
  double seconds = 0;

  // For a dedicated cluster.
  struct Spares {
    int spares = 0;
    std::vector<simulate::JobPlay> plays;
  };
  std::vector<Spares> spares;
  struct Intervals {
    double checkpoint = 0;  // seconds per checkpoint
    double between = 0;     // seconds between failures of the job
    double young = 0, daly = 0, simulated = 0;
    double useful_daly = 0, useful_simulated = 0;  // shares, both simulated
  };
  std::optional<Intervals> intervals;

  std::optional<double> usd(const simulate::JobPlay& play) const {
    if (!usd_per_hour) return std::nullopt;
    return play.node_seconds / 3600 * *usd_per_hour;
  }
};

std::vector<std::string> job_policies();

JobAnswer simulate_job(const JobRequest& request);

}  // namespace nereus::app
