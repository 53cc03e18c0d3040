// What one rank does in a step, read off the placement: which stages, with which samples, who gives
// it their inputs and who takes its outputs, in which order. No libtorch here.
//
// Stages meet by samples, not by ranks: what a stage makes of a micro-batch goes to whoever
// computes its samples in the stages that read it, in parts where they are several. Teams of equal
// tensor degree meet slice by slice. A rank that only keeps state of a run has a part of it too,
// without micro-batches: it takes part in the collectives of its layers (worker/state/keeping.hpp).
//
// A value goes directly from the stage that made it to each that reads it, so that branches of a
// network on different ranks run beside each other. Gradients come back the same way and are summed
// where the value was made, those of the latest reader first, as on one device.
//
// No rank waits in a circle. A pass waits for passes of the same samples: forward for those of
// earlier stages that it reads, backward for those of later stages that read it. Every order here
// is free of circles where a pass waits for all of the stage before (behind) it; samples pass all
// stages, so through that one it waits for all earlier (later) ones. Passes that wait for some of
// those alone wait for no more than that, and what has no circle has none with fewer waits.
//
//   const RankPlan mine = rank_plan(plan.placement, rank, inputs_of(layers));
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

// Another stage, and the values that pass between: layers that made them.
struct Link {
  int stage = 0;
  std::vector<int> values{};
  bool operator==(const Link&) const = default;
};

struct MicroBatch {
  std::int64_t first_sample = 0;
  std::int64_t num_samples = 0;
  // Who has its samples at the other end of each link of the stage.
  std::vector<std::vector<Route>> from{};
  std::vector<std::vector<Route>> to{};
  int place = 0;  // among all ranks' micro-batches of the run, by samples
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
  double offload = 0;        // share of what is kept between passes that waits in host memory
  std::vector<Link> from{};  // earlier stages whose values it reads, the first of them first
  std::vector<Link> to{};    // later stages that read its values, the last of them first

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

// By layer: the layers it reads, -1 = the samples.
using LayerInputs = std::vector<std::vector<int>>;
// Where messages between two ranks meet in the order they were started (NCCL), values go from stage
// to stage, through those between, so that both ends have one order.
enum class Routing { kDirect, kThrough };

// Without inputs there are no links: who only asks for samples and passes needs none.
RankPlan rank_plan(const plan::Placement& placement, int rank, const LayerInputs& inputs = {},
                   Routing routing = Routing::kDirect);

// Ranks that compute slice `slice` of a run, in the order of their samples' teams.
std::vector<int> data_ranks(const plan::LayerRun& run, int slice);

}  // namespace nereus::worker
