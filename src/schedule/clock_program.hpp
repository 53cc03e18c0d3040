// The order of the passes of one pipeline size, laid out so that simulating it is one loop over an
// array, and so that the simulation can be extrapolated beyond that size (schedule/clock.hpp).
//
//   ClockProgram program(Schedule::kInterleaved, {8, 2, 48}, true);
//   program.play(times, 512, false, close);     // false: no steady state after 48 micro-batches
#pragma once

#include "schedule/clock.hpp"
#include "schedule/program.hpp"

namespace nereus::schedule {

// Number of micro-batches per round of the schedule's steady state.
int round_of(plan::Schedule schedule, const PipelineSize& size);

class ClockProgram {
 public:
  // `extends`: whether to extrapolate to more micro-batches.
  ClockProgram(plan::Schedule schedule, const PipelineSize& size, bool extends);

  // Returns false if there is no steady state to extrapolate from.
  bool play(const PipelineSeconds& times, int micro_batches, bool staggered, PipelineClose& close);

 private:
  // The time of a pass and of its message, by virtual stage and kind of pass.
  enum Slot { kForward, kForwardAlone, kBack, kBackAlone, kInput, kInputAlone, kWeight, kNumSlots };

  // Where the seconds of a slot come from.
  struct Source {
    int stage = 0;
    Slot slot = kForward;
    bool sends = false;
    bool end = false;  // at an end of the pipeline: blocks its rank although it sends nothing
  };

  // The end of a pass is the time at which its message has arrived: max(end of the pass before it
  // on its rank, end of the pass whose output it needs) + its time including the message. (A pass
  // that sends nothing is needed only by its own rank.) Passes are numbered from 1; 0 means none.
  struct LeanOp {
    int before = 0;
    int needs = 0;
    int slot = 0;
  };

  // The same pass in two consecutive rounds.
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
    int free = 0;  // the pass after which the rank is free
  };

  // A pass near the end of a rank, counted from the last one.
  struct Tail {
    int number = 0;
    int slot = 0;
    int stage = -1;  // the stage whose last backward pass it is; or -1
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
  std::vector<int> numbers_;  // for each pass of the order, its index in `ops_`, from 1
  std::vector<int> pairs_;    // the first of two passes that run as one
  std::vector<Source> sources_;
  std::vector<double> seconds_, held_;  // by slot: time with the message; of the message only
  std::vector<Twins> twins_;
  std::vector<double> there_;
  std::vector<Lane> lanes_;
  std::vector<Tail> tails_;
};

}  // namespace nereus::schedule
