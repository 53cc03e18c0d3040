// Simulates 1F1B and interleaved 1F1B in waves over the ranks: the model of schedule/clock.hpp,
// without building an order.
//
// Rank r runs forward passes 0 .. w_r - 1 and then pairs of its (w_r + j)-th forward and its j-th
// backward pass, as long as there are any. Pairs have levels that rise by at least one whenever one
// waits for another, so that all pairs of a level can be simulated at once, in place. With f_r and
// b_r the times at which the messages of rank r's most recent forward and backward pass have
// arrived,
//   f_r <- max(b_r, f_{r-1}) + F_r        b_r <- max(f_r, b_{r+1}) + B_r
//   1F1B          w_r = p - 1 - r                     level 2 j - r; a level has every second rank
//   interleaved   w_r = 2 (p - 1 - r) + (v - 1) p     level j - r; rank 0 continues from rank p - 1
// (w rises by one or two from a rank to the previous one: the pass on rank r + 1 that waits for a
// forward pass of pair j on rank r belongs to pair j + 1 or j + 2; backward passes stay in pair j.)
// At every level one rank starts its next chunk.
//
// Every round of p micro-batches (1F1B: of one) repeats the same levels. Once a round makes all f
// and b later by the same c, every later round does too, so the remaining rounds take c each.
//
//   Wave wave;
//   wave.play({8, 2, 64}, {stages, 0.0}, close);
#pragma once

#include <vector>

#include "schedule/clock.hpp"

namespace nereus::schedule {

bool in_waves(plan::Schedule schedule, const PipelineSize& size);

// Allocates only if there are more ranks or stages than before.
class Wave {
 public:
  // The schedule of this size must be 1F1B or interleaved 1F1B.
  void play(const PipelineSize& size, const PipelineSeconds& times, PipelineClose& close);

 private:
  struct Span {
    int low = 0;
    int high = 0;  // inclusive
  };
  // The next rank that starts a chunk.
  struct Turn {
    int rank = 0;
    int chunk = 0;
    void step_down(const PipelineSize& size);
  };

  void start(const PipelineSize& size, const PipelineSeconds& times);
  void play_single(PipelineClose& close);
  void play_chunks(PipelineClose& close);
  void run_level(Span forward, Span back);
  void run_full_level();
  void enter_forward(Turn& turn);
  void enter_back(Turn& turn);
  bool has_come_to_rest(double& round) const;
  void snapshot();
  void move_on(double seconds);
  double forward_alone(int stage) const;
  double back_alone(int stage) const;
  void finish(int rank, int stage, PipelineClose& close) const;

  PipelineSize size_;
  PipelineSeconds times_;
  std::vector<double> room_;
  // By rank, in `room_`. f_ has one more entry before its first and b_ one after its last: the
  // value of the rank from which the first (last) rank continues, or 0.
  double* f_ = nullptr;
  double* b_ = nullptr;
  double* forward_ = nullptr;  // seconds of its next passes, with their messages
  double* back_ = nullptr;
  double* before_ = nullptr;      // f and b one round earlier
  double* forward_of_ = nullptr;  // by stage: the time of most of its passes
  double* back_of_ = nullptr;
};

}  // namespace nereus::schedule
