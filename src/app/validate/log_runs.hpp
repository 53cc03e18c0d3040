// Logs of trainers as measured runs, for `nereus calibrate train.log`.
//
//   LogRun run(log, {.gpu = "h100"});
//   run.stack();                        // "my-megatron": software that nobody knows
//   calibrate::Run r = run.as(library, "my-megatron");
//
// The layout is that of the log, or of `launch`: files in the form that `nereus import` reads. What
// neither says comes from the request; what is then missing is an error. The time of a step is the
// median after warm-up (logs/train_log.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/runs.hpp"
#include "export/bundle.hpp"
#include "logs/train_log.hpp"

namespace nereus::app {

struct LogRequest {
  std::vector<std::string> launch;  // launch script, ds_config.json, train.toml, config.json, ...
  std::string model;                // name or file; replaces the layout's
  int seq = 0;                      // tokens per sample, if no file says it; 0: as they say
  std::string gpu;                  // device; empty: as the log or the launch script says
  std::string node;                 // machine; empty: the usual one with that device
  int gpus = 0;                     // 0: as the log or the launch script says
};

// What was read from one log, for the report.
struct LogSummary {
  std::string file;
  std::string trainer;  // "Megatron-LM"
  std::string stack;
  double step = 0;  // seconds
  int used = 0;     // reports of steps behind it
  int dropped = 0;  // warm-up
  bool is_mean = false;
  double memory = 0;  // bytes; 0: not said
  int devices = 0;
  std::string device;
  std::vector<std::string> assumed;
};

class LogRun {
 public:
  // Throws Errors if something is missing.
  LogRun(logs::TrainLog log, const LogRequest& request);

  const std::string& file() const { return log_.file; }
  std::string stack() const;
  // Throws Errors if the layout is no plan.
  calibrate::Run as(const cost::StackLibrary& library, const std::string& stack) const;
  LogSummary summary(const cost::StackLibrary& library, const std::string& stack) const;

 private:
  exporting::Reading read(const cost::StackLibrary& library, const std::string& stack) const;

  logs::TrainLog log_;
  logs::Steady steady_;
  exporting::Bundle files_;
  exporting::Hints hints_;
  std::optional<model::Model> model_;
  int seq_ = 0;
  int devices_ = 0;
  cluster::Cluster cluster_;
};

}  // namespace nereus::app
