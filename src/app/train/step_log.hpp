// Records the steps of an elastic job in the order in which they were first done, on disk and in
// the answer. If a folder is continued, it begins with the steps that are already there. Only for
// use inside app/.
//
//   StepLog log(folder, metrics_file, watch, answer);
//   log.take(message, clips);                // another rank's message of a step adds its time
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "app/train/train.hpp"

namespace nereus::app {

class StepLog {
 public:
  StepLog(const std::string& folder, const std::string& metrics_file, const TrainWatch& watch,
          TrainAnswer& answer);
  void take(const job::Message& message, bool clips);

 private:
  // Returns the number of bytes in complete lines.
  std::uintmax_t read(const std::string& file);

  const TrainWatch& watch_;
  TrainAnswer& answer_;
  std::ofstream log_, metrics_;
};

}  // namespace nereus::app
