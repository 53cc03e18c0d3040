// What one rank does in a step, read off the placement: which stages, with which samples, who gives
// it their inputs and who takes its outputs, in which order. No libtorch here.
//
// Stages meet by samples, not by ranks: a micro-batch of a stage goes to whoever computes its
// samples in the next one, in parts where they are several. Teams of equal tensor degree meet slice
// by slice. A rank that only keeps state of a run has a part of it too, without micro-batches: it
// takes part in the collectives of its layers (worker/keeping.hpp).
//
//   const RankPlan mine = rank_plan(plan.placement, plan.model, rank);
//   for (const schedule::PipelineOp& op : mine.order) ...     // op.stage: mine.stage(op.stage)
#pragma once

#include <vector>

#include "base/error.hpp"

#include "plan/placement.hpp"
#include "schedule/order.hpp"

namespace nereus::worker {

// A part of a micro-batch, and the rank at its other end.
struct Route {
  int rank = 0;
  std::int64_t first_sample = 0;  // of the step
  std::int64_t num_samples = 0;
  bool operator==(const Route&) const = default;
};

struct MicroBatch {
  std::int64_t first_sample = 0;
  std::int64_t num_samples = 0;
  std::vector<Route> from{};  // the stage before; empty on the first
  std::vector<Route> to{};    // the stage after; empty on the last
  int place = 0;              // among all ranks' micro-batches of the run, by samples
  bool operator==(const MicroBatch&) const = default;
};

struct StageWork {
  int stage = 0;  // index of the run
  int first_layer = 0;
  int num_layers = 0;
  std::vector<int> team{};  // ranks of all tensor slices; none where this rank only stores
  int slice = 0;            // of this rank
  int num_slices = 1;
  int first_micro_batch = 0;  // number of micro_batches[0] in the order
  std::vector<MicroBatch> micro_batches{};
  int num_in_run = 0;  // micro-batches of all ranks
  plan::Recompute recompute = plan::Recompute::kNone;
  int recompute_layers = -1;
  double offload = 0;  // share of what is kept between passes that waits in host memory

  bool computes() const { return !micro_batches.empty(); }
  const MicroBatch& micro_batch(int number) const {
    return micro_batches[static_cast<std::size_t>(number - first_micro_batch)];
  }
  bool operator==(const StageWork&) const = default;
};

struct RankPlan {
  int rank = 0;
  std::vector<StageWork> stages{};            // by stage
  std::vector<schedule::PipelineOp> order{};  // passes of this rank
  const StageWork& stage(int number) const;
};

// What the worker cannot run yet, each with the reason; empty where it can.
std::vector<Error> cannot_run(const plan::Plan& plan);

RankPlan rank_plan(const plan::Placement& placement, int rank);

// Ranks that compute slice `slice` of a run, in the order of their samples' teams.
std::vector<int> data_ranks(const plan::LayerRun& run, int slice);

}  // namespace nereus::worker
