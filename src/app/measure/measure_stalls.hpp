// `nereus measure --stalls`: a job's step and what it waits for, measured on the ranks that would
// train it.
//
//   StallAnswer a = measure_stalls({.train = request, .seconds = 60}, watch);
//   a.report.of(measure::StallKind::kFetch).seconds;
//
// The job is that of `nereus train` with the same options, and is checked like it. Under a launcher
// rank 0's answer is the job's.
#pragma once

#include "app/train/train.hpp"
#include "measure/stalls.hpp"

namespace nereus::app {

struct StallRequest {
  TrainRequest train;
  double seconds = 60;  // to spend, beside starting; at least `rounds` are done whatever it takes
  int rounds = 6;
};

struct StallAnswer {
  measure::StallReport report;
  std::vector<measure::BlockTime> blocks;  // that it was made from
  std::string model;
  std::string library;
  double parameters = 0;
  double bucket_bytes = 0;  // of gradients that are summed together; 0: not known
  bool counts_tokens = true;
  double tokens = 0;  // or samples, of a step; 0: not known
  std::string how =
      "From differences between short runs; means over {} rounds";  // {}: report.rounds
  bool speaks = true;
  int exit_code = 0;
  std::optional<Error> failure;  // what ended it
};

struct StallWatch {
  std::function<void(const TrainBegin&)> begin{};
  std::function<void(int round, double seconds_left)> round{};
  std::function<void(int rank, std::string_view line)> text{};
};

// Throws Errors: those of train(), and measure.rounds.
StallAnswer measure_stalls(const StallRequest& request, const StallWatch& watch);

}  // namespace nereus::app
