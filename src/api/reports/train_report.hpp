// Output of a training run: one line per step while it runs, and the result at its end.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "api/form/report.hpp"
#include "app/train/train.hpp"

namespace nereus::api {

// "step 17  loss 3.2145  4,995 tokens/s  412 ms  MFU 41.2 %  1.2 GiB  waits 12 % (pipeline 8 %)".
std::string step_text(const app::TrainStep& step, bool counts_tokens);

// Prints at most one line per second, and always the first and the last.
class StepLines {
 public:
  using Clock = std::chrono::steady_clock;
  StepLines(std::function<void(const std::string&)> write, std::function<Clock::time_point()> now)
      : write_(std::move(write)), now_(std::move(now)) {}

  void take(const app::TrainStep& step, bool counts_tokens);
  void finish();  // prints the last line if it was skipped

 private:
  std::function<void(const std::string&)> write_;
  std::function<Clock::time_point()> now_;
  bool any_ = false;
  Clock::time_point last_{};
  std::string held_;
};

// Tables for people, and JSON with stable fields for scripts.
Report train_report(const app::TrainAnswer& answer, bool compare);

}  // namespace nereus::api
