// The static order in which every pipeline rank runs its passes; each schedule has a source file.
//
// A pass is the forward pass, its recompute, the backward pass, or one half of the backward pass of
// one micro-batch on one virtual stage. What a pass waits for is the same in every schedule:
//   forward(s, m)    forward(s - 1, m)
//   recompute(s, m)  forward(s, m)
//   backward(s, m)   forward(s, m), recompute(s, m) if any, backward(s + 1, m)   (input(s, m) likewise)
//   weight(s, m)     input(s, m)
// so an order is correct if it has every pass once (recompute at most once), all passes of a
// micro-batch on a stage are on the same rank, and it does not deadlock.
//
//   const Order order = make_order(Schedule::kZbH1, {8, 1, 32});   // ranks, chunks, micro-batches
//   order[0];                                    // the passes of the first pipeline rank
#pragma once

#include <vector>

#include "plan/degrees.hpp"

namespace nereus::schedule {

enum class Pass {
  kForward,
  kBackward,   // the whole backward pass
  kInput,      // gradient for the previous stage
  kWeight,     // gradient of the stage's weights
  kRecompute,  // the forward pass again, for its activations
};
inline constexpr int kNumPasses = 5;

struct PipelineOp {
  Pass pass = Pass::kForward;
  int stage = 0;  // virtual stage
  int micro_batch = 0;
  // Runs as one with the next op: they start when both can, and both end together.
  bool with_next = false;
  bool operator==(const PipelineOp&) const = default;
};

using Order = std::vector<std::vector<PipelineOp>>;  // by pipeline rank

struct PipelineSize {
  int depth = 1;   // pipeline ranks
  int chunks = 1;  // virtual stages per rank
  int micro_batches = 1;
  int num_stages() const { return depth * chunks; }
  bool operator==(const PipelineSize&) const = default;
};

// Whether the schedule has an order of that size, i.e. whether plan/rules.hpp allows it.
bool suits(plan::Schedule schedule, const PipelineSize& size);
// Also checks that the schedule puts these virtual stages on these ranks.
bool suits(plan::Schedule schedule, const PipelineSize& size,
           const std::vector<int>& rank_of_stage);

// The order of one replica; the size must suit the schedule.
Order make_order(plan::Schedule schedule, const PipelineSize& size);

// The order with a recompute inserted before every backward pass; also on the last stage if wanted.
Order with_recompute(const Order& order, const PipelineSize& size, bool on_last_stage);

// DualPipe runs the second half of the micro-batches in the opposite direction: stage s is on rank
// depth - 1 - s.
Order gpipe_order(const PipelineSize& size);
Order one_f_one_b_order(const PipelineSize& size);
Order interleaved_order(const PipelineSize& size);
Order looped_bfs_order(const PipelineSize& size);
Order zb_h1_order(const PipelineSize& size);
Order zb_h2_order(const PipelineSize& size);
Order zb_v_order(const PipelineSize& size);
Order dualpipe_order(const PipelineSize& size);
Order varuna_order(const PipelineSize& size);

}  // namespace nereus::schedule
