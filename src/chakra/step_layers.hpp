// One step of a regular plan layer by layer, for one rank of each stage: seconds of compute, FLOP
// and bytes, and every collective with its group and size.
//
// Seconds are the simulator's (cost::Predictor::work) without the exposed time of collectives,
// because the simulator that reads the trace adds that time:
//   sum over layers and passes of one micro-batch = F + B + W - communication     of the stage
// This also holds for each pass if no sharded weights are gathered. The time of a pass is divided
// in proportion to the layers' kernels (cost/layer_cost.hpp), and includes exposed host launches
// and copies. FLOP are the model's: forward FLOP / (tp cp) on each rank, twice as many for a
// backward pass, and half of these for each half of a split backward pass. So over all ranks they
// sum to the model's FLOP per step.
//
// The collectives of a layer come before, concurrently with, and after its kernels. Their number,
// groups and sizes are exact, but not their position among the kernels of a layer. Sizes are
// counted as in ASTRA-sim (chakra/schema.hpp).
//
//   StepWork work = make_work(model, cluster, basis, degrees);
//   work.stages[0].layers[3].forward;                  // seconds of one micro-batch
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "chakra/groups.hpp"
#include "chakra/schema.hpp"
#include "predict/predictor.hpp"
#include "simulate/pipeline/passes.hpp"

namespace nereus::chakra {

struct Collective {
  CommType type = CommType::kAllReduce;
  GroupKind group = GroupKind::kTensor;
  std::int64_t bytes = 0;
};
using Collectives = std::vector<Collective>;

struct LayerWork {
  int layer = 0;  // in the model
  // Seconds of one micro-batch.
  double forward = 0;
  double recompute = 0;
  double input = 0;
  double weight = 0;
  // Forward FLOP of one micro-batch on one rank; backward has twice as many.
  double flops = 0;
  double recompute_flops = 0;
  double bytes = 0;  // moved by the kernels

  Collectives before_forward, beside_forward, after_forward;
  Collectives before_backward, beside_backward, after_backward;
  Collectives before_weight;  // the inputs are gathered again, for weight gradients
  bool repeats = false;       // forward runs again before backward, including its collectives
  // For sharded weights that are not kept: gathered before each pass, scattered after each backward
  // pass.
  Collectives gather, scatter;
  // Once per step: after the last backward pass, and after the optimizer.
  Collectives reduce, regather;
};

struct StageLayers {
  std::vector<LayerWork> layers;
  std::int64_t message = 0;  // bytes that each rank sends to the next stage
};

// The optimizer step on one rank.
struct Update {
  double seconds = 0;
  double bytes = 0;  // read and written
};

struct StepWork {
  plan::Degrees degrees;
  simulate::PipelineSize size;
  simulate::Order order;
  std::vector<StageLayers> stages;  // by virtual stage
  std::vector<Update> optimizer;    // by pipeline rank
  bool gathers_messages = false;    // receivers gather the message over their tensor group
  std::int64_t tied_bytes = 0;      // gradient of a weight that two pipeline ranks share; 0 = none
  int tied_first = -1;              // the first and the last layer with that weight
  int tied_last = -1;
  std::pair<int, int> tied_ranks{0, 0};  // the pipeline ranks of these two layers
  int pieces = 1;
  int expert_pieces = 1;
  double flops = 0;  // of the model, per step
};

// The degrees must pass plan/rules.hpp.
StepWork make_work(const model::Model& model, const cluster::Cluster& cluster,
                   const cost::Basis& basis, const plan::Degrees& degrees);

}  // namespace nereus::chakra
