// `nereus simulate --availability`: a whole job through machines that come and go, under several
// policies (simulate/job).
//
//   JobAnswer a = simulate_job({.predict = {...}, .availability = "bamboo/p3-trace.csv"});
//   a.plays[0].goodput();
//
// With a mean time between failures instead of a trace: a dedicated cluster, whose nodes fail and
// are repaired, with and without spare nodes, and how often to save.
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
  std::string availability;                // a file, a known trace, a generated one
  std::string rates_file;                  // instead of model and cluster
  std::optional<double> samples_per_step;  // of the table
  std::vector<std::string> policies;       // empty: all
  std::optional<double> mtbf;              // seconds, of one node: a dedicated cluster
  double repair = 3600;                    // seconds until a failed node is back
  std::optional<int> spares;               // nodes beside those of the plan; empty: 0 to 4 tried
  std::optional<double> duration;          // seconds; empty: the trace's, or 30 days
  std::optional<double> checkpoint;        // seconds that one takes; empty: from bytes
  std::optional<double> checkpoint_every;  // seconds of training; empty: the policy's own
  std::optional<int> checkpoint_steps;     // the same in steps
  std::optional<double> restart;           // seconds, of varuna and restart
  std::optional<double> reconfigure;       // seconds, of oobleck
  std::optional<double> detect;            // seconds, of ours
  double morph = 0;                        // seconds more, of ours: to plan, meet and agree
  double notice = 0;
  double look_ahead = 0;
  std::optional<double> bandwidth;     // bytes/s of a machine; empty: its network
  std::optional<double> usd_per_hour;  // of a machine; empty: its spot price
  std::uint64_t seed = 1;
};

struct JobAnswer {
  simulate::Availability trace;
  simulate::AvailabilitySummary summary;
  simulate::JobRates rates;
  std::vector<simulate::JobPlay> plays;
  std::optional<double> usd_per_hour;  // of a machine
  std::string subject;                 // what is trained, on what
  std::vector<std::string> assumptions;
  int plans = 0;
  double plan_seconds = 0;
  double seconds = 0;

  // Of a dedicated cluster.
  struct Spares {
    int spares = 0;
    std::vector<simulate::JobPlay> plays;
  };
  std::vector<Spares> spares;
  struct Intervals {
    double checkpoint = 0;  // seconds that one takes
    double between = 0;     // failures of the job
    double young = 0, daly = 0, simulated = 0;
    double useful_daly = 0, useful_simulated = 0;  // shares, both played
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
