// Runs of Varuna's released simulator (Athlur 2022; github.com/microsoft/varuna, tools/simulator),
// and the same pipelines in our simulator.
//
// What that simulator does, and which parts are options here:
//   Varuna     the order of pipeline/varuna.hpp with forward passes pulled ahead. A recompute waits
//              for its gradient, even at the end when nothing is left to pull ahead (Varuna's
//              workers do not wait)
//   GPipe      all forward passes, then recompute and backward, the last micro-batch first. It
//              recomputes on every stage, even the last, and does not wait for the gradient
//   jitter     every pass varies normally, 2 ms; every message has a half-normal delay, 10 ms
//   messages   up to four in flight from a stage, each as long as if it were the only one; here
//              four per direction. `long_send` applies between stages on two machines, each with
//              `gpus_per_vm` devices
// A run of that simulator is one draw of the jitter; our simulation is repeated, for a mean and a
// standard deviation.
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
  double forward = 0;  // seconds, like all times here
  double backward = 0;
  double send = 0;
  double long_send = 0;  // 0: equal to send
  double simulated = 0;
};

// Columns as in data/varuna/simulator_runs.csv, times in microseconds. Throws Errors for impossible
// cells.
std::vector<VarunaRun> read_varuna_runs(const spec::Csv& csv);

struct VarunaView {
  bool recompute_waits = false;  // as in Varuna's simulator; no effect under GPipe
  bool jitter = false;
  int at_once = 4;  // messages in flight per stage and direction
};

struct VarunaTime {
  double mean = 0;       // seconds
  double deviation = 0;  // standard deviation of one draw; 0 without jitter
};
VarunaTime play_varuna_run(const VarunaRun& run, const VarunaView& view, int draws);

}  // namespace nereus::simulate
