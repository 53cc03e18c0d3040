// When Varuna's pipeline is done, in seconds: the same play as simulate/pipeline/varuna.hpp
// (forward passes pulled ahead within the peak, recompute early), made to be asked often.
//
// In the order of varuna.cpp rank r of p has run, before its j-th recompute and backward pass,
//   n_r(j) = min(m, 3 (p - 1 - r) + 3 floor(j / 3))          forward passes; the last rank j + 1
// and holds at most min(m, 3 (p - 1 - r)) micro-batches. A rank that has run these and comes to a
// recompute whose gradient is not there runs forward passes first, as long as it holds fewer; that
// decides on what arrives meanwhile, so ranks choose in the order of time: each runs on until it
// has to choose, and of all choices the earliest is made first. Messages leave beside the passes,
// those of a rank in one direction one after the other.
//
// How ranks stand to each other (passes ahead, seconds, messages on their way) decides how they go
// on, as long as forward passes are left. So once they stand as they did k micro-batches before, c
// seconds later, k a multiple of three, each further k take c:
//   t(m) = t(m - n k) + n c
// One earlier moment is kept to compare with, and a new one whenever twice as many micro-batches
// have passed (Brent 1980).
//
// Unlike orders that are fixed, longer passes may end earlier: a gradient that comes later may let
// a better choice be made. No rank ends before its own passes and the way to it and back:
//   end >= max over ranks r of  m (F_r + R_r + B_r) + sum over q < r of F_q + B_q + messages
//
//   VarunaClock clock;
//   clock.play({8, 1, 64}, {stages, 0.0}, close);
#pragma once

#include <vector>

#include "schedule/clock.hpp"

namespace nereus::schedule {

// Forward passes that rank `rank` has run before its `back`-th backward pass.
int forwards_before(const PipelineSize& size, int rank, int back);

// Allocates only for more ranks than it has seen.
class VarunaClock {
 public:
  // The size must have one stage a rank, and more than one rank.
  void play(const PipelineSize& size, const PipelineSeconds& times, PipelineClose& close);

 private:
  enum class Next { kChoose, kForward, kRecompute, kBack };

  struct Lane {
    double free = 0;                 // end of its last pass
    double sent = 0, sent_back = 0;  // when its last message each way has arrived
    double last_start = 0;           // of its last backward pass
    double choice = 0;               // when it has to choose; or kNever
    int forwards = 0;                // passes run
    int backs = 0;
    int most = 0;  // micro-batches that it may hold
    Next next = Next::kChoose;
  };

  void start(const PipelineSize& size, const PipelineSeconds& times);
  void advance(int rank);
  bool choose(int rank);
  bool run_forward(int rank);
  bool run_back(int rank);
  void make_choice(int rank);
  void look_for_rest();
  bool stands_as_before(double later, double tolerance) const;
  bool same_messages(double later, double tolerance) const;
  double& activation(int rank, int micro_batch) { return activations_[cell(rank, micro_batch)]; }
  double& gradient(int rank, int micro_batch) { return gradients_[cell(rank, micro_batch)]; }
  std::size_t cell(int rank, int micro_batch) const {
    return static_cast<std::size_t>(rank) * window_ +
           (static_cast<std::size_t>(micro_batch) & (window_ - 1));
  }
  Lane& lane(int rank) { return lanes_[static_cast<std::size_t>(rank)]; }
  const StageSeconds& stage(int rank) const {
    return times_.stages[static_cast<std::size_t>(rank)];
  }

  PipelineSize size_;
  PipelineSeconds times_;
  std::size_t window_ = 1;  // micro-batches on their way between two ranks: a power of two
  std::vector<Lane> lanes_;
  std::vector<double> activations_, gradients_;  // by receiving rank: when they arrive
  std::vector<int> ready_;                       // ranks that can go on
  // An earlier moment.
  std::vector<Lane> lanes_before_;
  std::vector<double> activations_before_, gradients_before_;
  int looked_at_ = 0;    // backward passes of the first rank when it last looked
  int next_moment_ = 0;  // and when it keeps a new one
  double left_out_ = 0;  // seconds of micro-batches that were not played
};

}  // namespace nereus::schedule
