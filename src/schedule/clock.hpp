// The time in seconds at which a pipeline with blocking messages ends: the same model as
// simulate/pipeline/pipeline_play.hpp, made to be evaluated millions of times.
//
// A rank runs its passes in the schedule's order (schedule/order.hpp); after each pass it is
// blocked until its message has arrived. The steady state consists of rounds: groups of P
// micro-batches whose passes have the same order. With x_n the times at which the passes of the
// n-th round end,
//   x_{n+1} = A (x) x_n                          (x): max-plus product; A is equal in every round
// So once every pass of a round ends a constant c later than the same pass of the round before,
// this holds for all later rounds too, and m micro-batches take
//   t(m) = t(m') + (m - m') / P c                P micro-batches a round
// 1F1B and interleaved 1F1B are simulated in waves over the ranks until they reach this steady
// state (schedule/wave.hpp). For other schedules the clock simulates m' = 4 p micro-batches; if the
// steady state is not reached, it simulates twice as many, and so on, up to m. It needs to know
// only P: the passes of a round are found by comparing the orders of m' and m' + P micro-batches,
// which must differ in exactly one round (schedule/clock_program.hpp). GPipe and looped BFS have no
// such rounds, but a closed form (schedule/phases.hpp). Varuna's ranks decide at run time which
// pass is next, and send concurrently with their passes (schedule/varuna_clock.hpp); the following
// does not hold for Varuna.
//
// Longer passes or messages never make the pipeline end earlier, because every end time is a
// maximum of sums of their times. Nor do they shorten the time from a rank's first pass to its
// last: whatever the rank waits for has come through every stage before it, like its first
// micro-batch.
//
//   Clock clock;
//   PipelineClose close;
//   clock.play(Schedule::kInterleaved, {8, 2, 64}, {stages, 0.0}, false, close);
//   close.end[0];                               // end of the first rank's last pass
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "schedule/order.hpp"

namespace nereus::schedule {

// Times of one micro-batch on one virtual stage. Messages count if the next stage is on another
// rank.
struct StageSeconds {
  double forward = 0;
  double input = 0;  // a whole backward pass is input + weight
  double weight = 0;
  double send = 0;       // to send its output
  double send_back = 0;  // to send its input's gradient
  // The two send times when there is nothing to overlap with: for the activations of the rank's
  // first micro-batch, and for the gradients of its last.
  double send_alone = 0;
  double send_back_alone = 0;
  double recompute = 0;  // if it is a separate pass: under Varuna
  bool operator==(const StageSeconds&) const = default;
};

struct PipelineSeconds {
  std::span<const StageSeconds> stages;  // by virtual stage
  // Seconds for which the passes that send nothing block their rank: the last stage's forward
  // passes and the first stage's backward passes.
  double ends = 0;
};

// How the simulation ends on every rank.
struct PipelineClose {
  std::vector<double> end;  // by rank: end of its last pass
  // By virtual stage, if backward passes are whole: the start of its last backward pass, and the
  // seconds of passes that its rank runs from then on.
  std::vector<double> last_back;
  std::vector<double> busy_after;
  double longest() const;  // end of the last pass of all ranks
};

class ClockProgram;
class VarunaClock;
class Wave;

// Only one thread may use it at a time. Allocates only for new sizes.
class Clock {
 public:
  Clock();
  ~Clock();
  Clock(Clock&&) noexcept;

  // If `staggered`, ends count from each rank's first pass on. plan/rules.hpp must allow the size
  // for the schedule.
  void play(plan::Schedule schedule, const PipelineSize& size, const PipelineSeconds& times,
            bool staggered, PipelineClose& close);

 private:
  struct Known {
    plan::Schedule schedule;
    PipelineSize size;
    bool extends = false;
    std::unique_ptr<ClockProgram> program;
  };
  ClockProgram& program(plan::Schedule schedule, const PipelineSize& size, bool extends);

  std::vector<Known> known_;
  std::vector<double> room_;  // for the closed form
  std::unique_ptr<Wave> wave_;
  std::unique_ptr<VarunaClock> varuna_;
};

}  // namespace nereus::schedule
