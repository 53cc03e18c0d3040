// The time in seconds at which Varuna's pipeline ends: the same model as
// simulate/pipeline/varuna.hpp (forward passes pulled ahead within the peak, early recompute), made
// to be evaluated often.
//
// In the order of varuna.cpp, the number of forward passes that rank r of p has run before its j-th
// recompute and backward pass is
//   n_r(j) = min(m, 3 (p - 1 - r) + 3 floor(j / 3))          on the last rank: j + 1
// and the rank holds at most min(m, 3 (p - 1 - r)) micro-batches. A rank that has run these forward
// passes and reaches a recompute whose gradient has not arrived runs further forward passes first,
// as long as it holds fewer micro-batches than that. What arrives in the meantime decides this, so
// ranks choose in the order of time: each runs until it must choose, and the earliest choice of all
// ranks is made first. Messages are sent concurrently with passes; the messages of a rank in one
// direction go one after the other.
//
// The relative state of the ranks (passes ahead, seconds, messages in flight) decides what follows,
// as long as forward passes are left. So if the ranks reach the same relative state again after k
// micro-batches (a multiple of three) and c seconds, then every further k micro-batches take c:
//   t(m) = t(m - n k) + n c
// One earlier state is stored for comparison; it is replaced whenever twice as many micro-batches
// have passed (Brent 1980).
//
// Unlike with fixed orders, longer passes may end earlier: a later gradient may lead to a better
// choice. The pipeline does not end before any rank has had time for all its passes and for the
// path of a micro-batch to that rank and back:
//   end >= max over ranks r of  m (F_r + R_r + B_r) + sum over q < r of F_q + B_q + messages
//
//   VarunaClock clock;
//   clock.play({8, 1, 64}, {stages, 0.0}, close);
#pragma once

#include <vector>

#include "schedule/clock.hpp"

namespace nereus::schedule {

// Number of forward passes that rank `rank` has run before its `back`-th backward pass.
int forwards_before(const PipelineSize& size, int rank, int back);

// Allocates only if there are more ranks than before.
class VarunaClock {
 public:
  // The size must have one stage per rank, and more than one rank.
  void play(const PipelineSize& size, const PipelineSeconds& times, PipelineClose& close);

 private:
  enum class Next { kChoose, kForward, kRecompute, kBack };

  struct Lane {
    double free = 0;                 // end of its last pass
    double sent = 0, sent_back = 0;  // when its last message in each direction has arrived
    double last_start = 0;           // start of its last backward pass
    double choice = 0;               // when it must choose; or kNever
    int forwards = 0;                // forward passes run
    int backs = 0;                   // backward passes run
    int most = 0;                    // most micro-batches that it may hold
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
  Lane& lane(int rank) { return lanes_[rank]; }
  const StageSeconds& stage(int rank) const { return times_.stages[rank]; }

  PipelineSize size_;
  PipelineSeconds times_;
  std::size_t window_ = 1;  // most messages in flight between two ranks, as a power of two
  std::vector<Lane> lanes_;
  std::vector<double> activations_, gradients_;  // arrival times, by receiving rank
  std::vector<int> ready_;                       // ranks that can continue
  // The stored earlier state.
  std::vector<Lane> lanes_before_;
  std::vector<double> activations_before_, gradients_before_;
  int looked_at_ = 0;    // backward passes of the first rank at the last comparison
  int next_moment_ = 0;  // number of backward passes at which a new state is stored
  double left_out_ = 0;  // seconds of micro-batches that were not simulated
};

}  // namespace nereus::schedule
