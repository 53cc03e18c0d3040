// When a pipeline with blocking messages is done, in seconds: the same play as
// simulate/pipeline/pipeline_play.hpp, made to be asked millions of times.
//
// A rank runs its passes in the schedule's order (schedule/order.hpp); after each it is held up
// until its message has arrived. With x_n the times at which the passes of the n-th round end,
//   x_{n+1} = A (x) x_n                          (x): max-plus product, A the same in every round
// So once a whole round is the one before it and a constant c later on every rank, all that follow
// are, and m micro-batches take
//   t(m) = t(m') + (m - m') / P c                P micro-batches a round
// 1F1B and interleaved 1F1B are played in waves over the ranks, until they have come to rest
// (schedule/wave.hpp). Of others the clock plays m' = 4 p micro-batches, and where that has not
// come to rest twice as many, and so on, up to m. It needs no knowledge of the schedule: P and the
// round are read off the orders of m' and m' + P micro-batches, which must be alike but for one
// round more (schedule/clock_program.hpp). GPipe and looped BFS have no such round, but a closed
// form (schedule/phases.hpp). Varuna's ranks decide as they go, and send beside their passes
// (schedule/varuna_clock.hpp); what follows does not hold for it.
//
// Longer passes or messages never end earlier: all are maxima of sums of them. Nor do they make a
// rank quicker from its own first pass on: whatever it waits for has come through every stage
// before it, as its first micro-batch has.
//
//   Clock clock;
//   PipelineClose close;
//   clock.play(Schedule::kInterleaved, {8, 2, 64}, {stages, 0.0}, false, close);
//   close.end[0];                               // the first rank's last pass of all
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "schedule/order.hpp"

namespace nereus::schedule {

// Of one micro-batch on one virtual stage. Messages count where the next stage is on another rank.
struct StageSeconds {
  double forward = 0;
  double input = 0;  // a whole backward pass is input and weight
  double weight = 0;
  double send = 0;       // of its output
  double send_back = 0;  // of its input's gradient
  // The same two for the rank's first micro-batch, and for the gradients of its last.
  double send_alone = 0;
  double send_back_alone = 0;
  double recompute = 0;  // where that is a pass of its own: under Varuna
  bool operator==(const StageSeconds&) const = default;
};

struct PipelineSeconds {
  std::span<const StageSeconds> stages;  // by virtual stage
  double ends = 0;  // by which forward passes of the last and backward passes of the first hold up
};

// How the ranks come to an end.
struct PipelineClose {
  std::vector<double> end;  // by rank: of its last pass
  // By virtual stage, where backward passes are whole: the start of its last one, and the seconds
  // of passes that its rank runs from then on.
  std::vector<double> last_back;
  std::vector<double> busy_after;
  double longest() const;  // until the last pass of all has ended
};

class ClockProgram;
class VarunaClock;
class Wave;

// One thread at a time. Allocates only for sizes that it has not seen.
class Clock {
 public:
  Clock();
  ~Clock();
  Clock(Clock&&) noexcept;

  // `staggered`: ends count from each rank's own first pass on. The size must be one that
  // plan/rules.hpp allows the schedule.
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
