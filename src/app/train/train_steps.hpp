// What the ranks of a launcher say, put together into steps, in order: a step is whole when every
// rank has reported it. Rank 0's words count for what all share (loss, learning rate, tokens), the
// slowest rank's for time, the fullest's for memory, the mean of all for waiting.
//
//   StepCollector collector({0, 1, 2, 3});
//   for (const TrainStep& step : collector.take(message)) ...
//   for (const TrainStep& step : collector.rest()) ...       // what a job that broke off left
#pragma once

#include <map>
#include <set>
#include <vector>

#include "app/train/train.hpp"

namespace nereus::app {

class StepCollector {
 public:
  explicit StepCollector(const std::vector<int>& ranks) : ranks_(ranks.begin(), ranks.end()) {}

  // The steps that this message makes whole.
  std::vector<TrainStep> take(const job::Message& message);
  // Those that the first rank has reported and others have not.
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

// One object a step, flushed, so that a file can be followed while it grows.
//
//   {"step": 17, "loss": 3.2, "gradient_norm": 1.1, "rate": 0.0003, "step_s": 0.41,
//    "tokens_per_s": 4995.1, "memory_bytes": 1e9, "mfu": 0.4, "waits": {"data": 0.01, ..}}
//
// What is no number (a loss that diverged) is null; mfu is left out where no peak is known.
std::string metrics_line(const TrainStep& step, bool counts_tokens);

}  // namespace nereus::app
