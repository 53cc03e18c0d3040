// Steps of an elastic job in the order they were first done, on disk and in the answer. A call that
// goes on with a folder begins with the steps that are there. Inside app/ only.
//
//   StepLog log(folder, metrics_file, watch, answer);
//   log.take(message, clips);                // another rank's of the same step adds its time
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
  // Returns the bytes of the lines that are whole.
  std::uintmax_t read(const std::string& file);

  const TrainWatch& watch_;
  TrainAnswer& answer_;
  std::ofstream log_, metrics_;
};

}  // namespace nereus::app
