// The work of one rank in a step, derived from the placement: which stages with which samples, the
// sources of its inputs and the destinations of its outputs, and the order of passes. Does not use
// libtorch.
//
// Stages are connected by samples, not by ranks: the output of a stage for a micro-batch goes to
// the ranks that compute its samples in the stages that read it, in parts if there are several.
// Teams with equal tensor degree are connected slice by slice. A rank that only stores state of a
// run also has a StageWork for this run, but without micro-batches: the rank takes part in the
// collectives of the run's layers (worker/state/keeping.hpp).
//
// A value goes directly from the stage that made it to each stage that reads it, so that branches
// of a network on different ranks run concurrently. Gradients go the same way back and are summed
// where the value was made, starting with the gradient of the latest reader, as on one device.
//
// There is no deadlock. A pass waits for passes of the same samples: a forward pass for the forward
// passes of the earlier stages whose values it reads, a backward pass for the backward passes of
// the later stages that read its value. Suppose that every forward (backward) pass waited for the
// stage directly before (after) it. Samples pass all stages, so it would thereby wait for all
// earlier (later) stages. Every order here is free of cycles even with these waits. The real passes
// wait for only some of the stages, and removing waits creates no cycle.
//
//   const RankPlan mine = rank_plan(plan.placement, rank, inputs_of(layers));
//   for (const schedule::PipelineOp& op : mine.order) ...     // op.stage: mine.stage(op.stage)
#pragma once

#include <vector>

#include "base/error.hpp"

#include "plan/placement.hpp"
#include "schedule/order.hpp"

namespace nereus::worker {

// A part of a micro-batch, and the rank at the other end.
struct Route {
  int rank = 0;
  std::int64_t first_sample = 0;  // in the step
  std::int64_t num_samples = 0;
  bool operator==(const Route&) const = default;
};

// Another stage, and the values that pass between the two stages, each identified by the layer that
// made it.
struct Link {
  int stage = 0;
  std::vector<int> values{};
  bool operator==(const Link&) const = default;
};

struct MicroBatch {
  std::int64_t first_sample = 0;
  std::int64_t num_samples = 0;
  // For each link of the stage: the ranks at the other end that compute the samples of this
  // micro-batch.
  std::vector<std::vector<Route>> from{};
  std::vector<std::vector<Route>> to{};
  int place = 0;  // among the micro-batches of all ranks of the run, by samples
  bool operator==(const MicroBatch&) const = default;
};

struct StageWork {
  int stage = 0;  // index of the run
  int first_layer = 0;
  int num_layers = 0;
  std::vector<int> team{};  // ranks of all tensor slices; empty if this rank only stores
  int slice = 0;            // slice of this rank
  int num_slices = 1;
  int first_micro_batch = 0;  // number of micro_batches[0] in the order
  std::vector<MicroBatch> micro_batches{};
  int num_in_run = 0;  // micro-batches of all ranks
  plan::Recompute recompute = plan::Recompute::kNone;
  int recompute_layers = -1;
  double offload = 0;        // share of the kept activations that is offloaded to host memory
  std::vector<Link> from{};  // earlier stages whose values it reads, the earliest first
  std::vector<Link> to{};    // later stages that read its values, the latest first

  bool computes() const { return !micro_batches.empty(); }
  const MicroBatch& micro_batch(int number) const {
    return micro_batches[number - first_micro_batch];
  }
  bool operator==(const StageWork&) const = default;
};

struct RankPlan {
  int rank = 0;
  std::vector<StageWork> stages{};            // by stage
  std::vector<schedule::PipelineOp> order{};  // passes of this rank
  const StageWork& stage(int number) const;
};

// What the worker does not support, each with the reason; empty if it can run the plan.
std::vector<Error> cannot_run(const plan::Plan& plan);

// By layer: the layers that it reads; -1 = the samples.
using LayerInputs = std::vector<std::vector<int>>;
// kThrough: values go from stage to stage, through the stages in between. Needed if messages
// between two ranks are matched in the order in which they were started (NCCL), so that both ends
// have the same order.
enum class Routing { kDirect, kThrough };

// Without inputs there are no links: enough for callers that only need samples and passes.
RankPlan rank_plan(const plan::Placement& placement, int rank, const LayerInputs& inputs = {},
                   Routing routing = Routing::kDirect);

// Ranks that compute slice `slice` of a run, in the order of their teams' samples.
std::vector<int> data_ranks(const plan::LayerRun& run, int slice);

}  // namespace nereus::worker
