// Runs of Varuna's released simulator (Athlur 2022; github.com/microsoft/varuna, tools/simulator),
// and the same pipelines as we play them.
//
// What that simulator does, and which of it is a choice here:
//   Varuna     the order of pipeline/varuna.hpp with forward passes pulled ahead; a recompute waits
//              for its gradient, also at the end where nothing is left to pull (its workers do not)
//   GPipe      all forward, then recompute and backward of the last micro-batch first; recompute on
//              every stage, the last too; it does not wait for its gradient
//   jitter     of every pass normal, 2 ms; of every message a delay, half-normal, 10 ms
//   messages   up to four under way from a stage, each as long as if it were alone; here four in
//              either direction. `long_send` between stages of two machines of `gpus_per_vm`
// One run is one draw of its jitter; ours is repeated, for a mean and a standard deviation.
//
//   for (const VarunaRun& run : read_varuna_runs(csv))
//     play_varuna_run(run, {.recompute_waits = true, .jitter = true}, 10).mean;
#pragma once

#include <vector>

#include "simulate/pipeline/pipeline_play.hpp"
#include "spec/csv.hpp"

namespace nereus::simulate {

struct VarunaRun {
  int line = 0;
  bool gpipe = false;
  PipelineSize size;
  int gpus_per_vm = 1;
  double forward = 0;  // seconds, all
  double backward = 0;
  double send = 0;
  double long_send = 0;  // 0: as send
  double simulated = 0;
};

// Columns as in data/varuna/simulator_runs.csv, times in microseconds. Errors for cells that cannot
// be.
std::vector<VarunaRun> read_varuna_runs(const spec::Csv& csv);

struct VarunaView {
  bool recompute_waits = false;  // as in its simulator; no matter under GPipe
  bool jitter = false;
  int at_once = 4;  // messages under way from a stage in a direction
};

struct VarunaTime {
  double mean = 0;       // seconds
  double deviation = 0;  // standard deviation of one draw; 0 without jitter
};
VarunaTime play_varuna_run(const VarunaRun& run, const VarunaView& view, int draws);

}  // namespace nereus::simulate
