// What a trainer's log says about its run: how long steps took, how much memory they used, and, if
// the trainer prints it, the layout.
//
//   TrainLog log = read_log(text, "train.log");      // the trainer is found by what it prints
//   Steady s = steady(log);                          // s.value: the median after warm-up
//   log.layout;                                      // files for exporting::read()
//
// trainer         a step                                         the layout
//   Megatron-LM     "elapsed time per iteration (ms): X"           "----- arguments -----" and after
//   DeepSpeed       "CurrSamplesPerSec=X", "iter time (s): X"      "json = {...}" of its config
//   torchtitan      "step: N ... memory: XGiB ... tps: X"          "Running with args|configs: {...}"
//   NeMo            "train_step_timing in s: X" (or =X)            "Experiment configuration", YAML
//   Hugging Face    the progress bar, "train_steps_per_second"     TrainingArguments(...),
//                                                                  "Model config X {...}"
// Forms as in the sources of Megatron-LM (training.py, arguments.py), DeepSpeed (utils/timer.py,
// runtime/config.py, pipe/engine.py), torchtitan (components/metrics.py, trainer.py), NeMo
// (exp_manager, nemo_logger) and transformers (trainer.py, examples/run_clm.py) of 2022 to 2026.
//
// Warm-up: of n reported steps the first fifth is dropped, at least one and at most ten; the rest
// gives the median. A log with a single report keeps it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace nereus::logs {

enum class Trainer { kMegatron, kDeepspeed, kTorchtitan, kNemo, kHuggingFace };
std::string_view title(Trainer trainer);

// What the values of the steps are.
enum class Measure { kSecondsPerStep, kTokensPerSecondPerDevice, kSamplesPerSecond };

struct LoggedStep {
  int line = 0;
  double value = 0;
  bool operator==(const LoggedStep&) const = default;
};

struct LayoutFile {
  std::string name;  // its ending says what it is, as for exporting::read_hints()
  std::string text;
};

struct TrainLog {
  Trainer trainer = Trainer::kMegatron;
  std::string file;
  Measure measure = Measure::kSecondsPerStep;
  std::vector<LoggedStep> steps;
  bool is_mean = false;    // the only step is a mean over the job, with its warm-up
  double memory = 0;       // bytes, the largest that is printed; 0: none
  int devices = 0;         // 0: not said
  std::string device;      // "NVIDIA H100 80GB HBM3"; empty: not said
  bool deepspeed = false;  // Megatron-LM inside DeepSpeed
  bool compiled = false;   // torch.compile
  int sequence = 0;        // tokens per sample, where the layout's files do not say it; 0: not said
  std::vector<LayoutFile> layout;  // empty: the log does not say
};

struct Steady {
  double value = 0;
  int used = 0;
  int dropped = 0;
};

// Whether a text looks like a log of one of the trainers.
bool is_log(std::string_view text);
// Throws Errors: no trainer's log ("log.unknown"), no step in it ("log.no-steps"), a number that is
// none or out of range ("log.value", with its line).
TrainLog read_log(std::string_view text, const std::string& file);
Steady steady(const TrainLog& log);

}  // namespace nereus::logs
