// `nereus measure --stalls`: measures a job's step and what it waits for, on the ranks that would
// train it.
//
//   StallAnswer a = measure_stalls({.train = request, .seconds = 60}, watch);
//   a.report.of(measure::StallKind::kFetch).seconds;
//
// The job is the one that `nereus train` would run with the same options, and it passes the same
// checks. Under a launcher, rank 0 returns the job's answer.
#pragma once

#include "app/train/train.hpp"
#include "measure/stalls.hpp"

namespace nereus::app {

struct StallRequest {
  TrainRequest train;
  // Measuring time without start-up; at least `rounds` rounds are done in any case.
  double seconds = 60;
  int rounds = 6;
};

struct StallAnswer {
  measure::StallReport report;
  std::vector<measure::BlockTime> blocks;  // the measurements it was computed from
  std::string model;
  std::string library;
  double parameters = 0;
  double bucket_bytes = 0;  // of gradients that are all-reduced together; 0: unknown
  bool counts_tokens = true;
  double tokens = 0;  // or samples, of a step; 0: not known
  std::string how =
      "From differences between short runs; means over {} rounds";  // {}: report.rounds
  bool speaks = true;
  int exit_code = 0;
  std::optional<Error> failure;  // the error that ended the job
};

struct StallWatch {
  std::function<void(const TrainBegin&)> begin{};
  std::function<void(int round, double seconds_left)> round{};
  std::function<void(int rank, std::string_view line)> text{};
};

// Throws Errors: those of train(), and measure.rounds.
StallAnswer measure_stalls(const StallRequest& request, const StallWatch& watch);

}  // namespace nereus::app
