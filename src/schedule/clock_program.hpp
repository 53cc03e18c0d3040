// The order of one size of a pipeline, laid out so that its play is one walk over an array, and how
// the play goes on beyond that size (schedule/clock.hpp).
//
//   ClockProgram program(Schedule::kInterleaved, {8, 2, 48}, true);
//   program.play(times, 512, false, close);     // false: not at rest yet after 48 micro-batches
#pragma once

#include "schedule/clock.hpp"
#include "schedule/program.hpp"

namespace nereus::schedule {

// Micro-batches that a round of the schedule's steady state takes in.
int round_of(plan::Schedule schedule, const PipelineSize& size);

class ClockProgram {
 public:
  // `extends`: it is to say how more micro-batches go on.
  ClockProgram(plan::Schedule schedule, const PipelineSize& size, bool extends);

  // False where the play does not show how it goes on.
  bool play(const PipelineSeconds& times, int micro_batches, bool staggered, PipelineClose& close);

 private:
  // What a pass takes and what follows it, by virtual stage and kind of pass.
  enum Slot { kForward, kForwardAlone, kBack, kBackAlone, kInput, kInputAlone, kWeight, kNumSlots };

  // Where a slot's seconds come from.
  struct Source {
    int stage = 0;
    Slot slot = kForward;
    bool sends = false;
    bool end = false;  // of the pipeline: held up all the same
  };

  // A pass is done, and its message there, at max(that of the pass before it on its rank, that of
  // the pass it needs) + its time with the message. (Where it sends nothing, only its own rank
  // needs it.) Passes are numbered from 1; 0 stands for none.
  struct LeanOp {
    int before = 0;
    int needs = 0;
    int slot = 0;
  };

  // Of a round that two passes have in common, the same pass of it.
  struct Twins {
    int before = 0;
    int after = 0;
  };

  // The first and last pass of a rank.
  struct Lane {
    int first = 0;
    int first_slot = 0;
    int last = 0;
    int last_slot = 0;
    int free = 0;  // the pass after which it goes on
  };

  // A pass near the end of a rank, from the last one back.
  struct Tail {
    int number = 0;
    int slot = 0;
    int stage = -1;  // of which it is the last backward pass; or -1
    bool last = false;
  };

  void lay_out(const PassProgram& program);
  void find_tails(const PassProgram& program);
  void find_round(plan::Schedule schedule, const Order& order, const PassProgram& program);
  PipelineOp moved(PipelineOp op, const PipelineSize& size, int by) const;
  static int slot_of(const ProgramOp& op);
  static double takes(const StageSeconds& own, Slot slot);
  static double message(const StageSeconds& own, Slot slot);
  void fill_slots(const PipelineSeconds& times);
  void run();
  void run_pairs();
  bool at_rest(double& round) const;

  PipelineSize size_;
  bool dual_ = false;
  int round_ = 1;
  std::vector<LeanOp> ops_;
  std::vector<int> numbers_;  // in `ops_`, from 1, of the passes of the order
  std::vector<int> pairs_;    // the first of two that run as one
  std::vector<Source> sources_;
  std::vector<double> seconds_, held_;  // by slot: with the message, and of it the message
  std::vector<Twins> twins_;
  std::vector<double> there_;
  std::vector<Lane> lanes_;
  std::vector<Tail> tails_;
};

}  // namespace nereus::schedule
