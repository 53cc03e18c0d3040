// `nereus validate --pipelines`: compares mini-batch times of Varuna's released simulator with our
// simulation (simulate/compat/varuna_runs.hpp), in five views ("its" = the released simulator's):
//   its rule, its jitter            what it does, up to the randomness of its single draw
//   its rule, no jitter
//   its workers' rule, its jitter   a recompute need not wait for its gradient
//   its workers' rule, no jitter
//   and one message at a time       messages do not share a wire: our default model
#pragma once

#include <array>
#include <string>
#include <vector>

#include "simulate/compat/varuna_runs.hpp"

namespace nereus::app {

inline constexpr int kNumVarunaViews = 5;
inline constexpr std::array<simulate::VarunaView, kNumVarunaViews> kVarunaViews = {
    {{true, true}, {true, false}, {false, true}, {false, false}, {false, false, 1}}};
inline constexpr int kVarunaDraws = 20;

struct PipelineRow {
  simulate::VarunaRun run;
  std::array<simulate::VarunaTime, kNumVarunaViews> ours;
};

struct PipelineSum {
  std::string mode;
  int rows = 0;
  std::array<double, kNumVarunaViews> bias{};      // mean error, signed
  std::array<double, kNumVarunaViews> mean_abs{};  // mean |error|
  std::array<double, kNumVarunaViews> worst{};     // largest |error|, signed
  // For the first view: rows within two, and within four, standard deviations of its mean.
  int within_two = 0;
  int within_four = 0;
};

struct ValidatePipelinesAnswer {
  std::vector<PipelineRow> rows;
  std::vector<PipelineSum> sums;  // varuna, gpipe; those that exist
};

ValidatePipelinesAnswer validate_pipelines(const std::string& file);

}  // namespace nereus::app
