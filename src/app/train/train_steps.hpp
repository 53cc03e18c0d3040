// Combines the messages of the ranks of a launcher into steps, in order: a step is complete when
// every rank has reported it. Loss, learning rate and tokens come from rank 0, the time from the
// slowest rank, the memory from the fullest rank; waiting times are the mean over ranks.
//
//   StepCollector collector({0, 1, 2, 3});
//   for (const TrainStep& step : collector.take(message)) ...
//   for (const TrainStep& step : collector.rest()) ...       // incomplete steps of an ended job
#pragma once

#include <map>
#include <set>
#include <vector>

#include "app/train/train.hpp"

namespace nereus::app {

class StepCollector {
 public:
  explicit StepCollector(const std::vector<int>& ranks) : ranks_(ranks.begin(), ranks.end()) {}

  // The steps that this message completes.
  std::vector<TrainStep> take(const job::Message& message);
  // The steps that the first rank has reported and others have not.
  std::vector<TrainStep> rest();

 private:
  struct Open {
    TrainStep step;
    std::set<int> heard;
  };

  TrainStep close(const Open& open) const;

  std::set<int> ranks_;
  std::map<std::int64_t, Open> open_;
};

// One object per step, flushed, so that the file can be followed while it grows.
//
//   {"step": 17, "loss": 3.2, "gradient_norm": 1.1, "rate": 0.0003, "step_s": 0.41,
//    "tokens_per_s": 4995.1, "memory_bytes": 1e9, "mfu": 0.4, "waits": {"data": 0.01, ..}}
//
// A number that is not finite (a loss that diverged) is null; mfu is left out if the peak is
// unknown.
std::string metrics_line(const TrainStep& step, bool counts_tokens);

}  // namespace nereus::app
