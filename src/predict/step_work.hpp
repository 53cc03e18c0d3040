// The work of one training step, for the simulator: the passes of every lane on every virtual
// stage, the messages between stages, and the reductions at the end. In closed form,
// predict/predictor.hpp and predict/general/general_predictor.hpp predict sums of these numbers.
//
// A lane is a set of teams that behave alike (same samples, same kinds of machine) and run through
// all stages. If teams wait for each other at every layer (sharded weights), or samples are
// redistributed (the set of ranks changes from layer to layer), one lane represents all of them
// (`joint`), and each pass is as long as that of the slowest team.
//
// Burst plans, whose layers run on different ranks with one micro-batch, also have a list of their
// layers (`layers`), for a simulation in which branches run concurrently.
//
// A rank's time for a micro-batch, including host and sharding, is divided among the passes of its
// virtual stages in proportion to the time that each pass takes without the others
// (predict/played.hpp).
//
//   StepWork work = predictor.work(degrees);
//   work.lanes[0].passes[2].forward;            // seconds on virtual stage 2
#pragma once

#include <optional>
#include <vector>

#include "cost/layer_graph.hpp"
#include "cost/stage_time.hpp"
#include "plan/degrees.hpp"
#include "predict/prediction.hpp"

namespace nereus::cost {

// Seconds of one micro-batch on one virtual stage. A whole backward pass is recompute + input +
// weight.
struct PassSeconds {
  double forward = 0;
  double recompute = 0;
  double input = 0;   // gradient for the previous stage
  double weight = 0;  // gradient of the stage's weights
  double backward() const { return recompute + input + weight; }
  double total() const { return forward + backward(); }
};

struct LaneWork {
  bool joint = false;
  int ranks_per_team = 1;
  std::vector<std::vector<int>> ranks;  // for each team, its first rank on each pipeline rank
  int num_micro_batches = 1;
  std::vector<PassSeconds> passes;  // by virtual stage
  std::vector<PassSeconds> last;    // of the last micro-batch if it is smaller, else empty
  std::vector<double> send;  // by virtual stage: seconds to send its output to the next stage, or 0
  // Share of each virtual stage's passes in which the device waits for collectives of its team
  // (tensor, context, experts, gathering of sharded weights).
  std::vector<double> communication;
  // Seconds in which the device waits, after the backward pass of every micro-batch but the last,
  // for the reduction of sharded gradients (ZeRO-2); only without a pipeline.
  double reduced_each = 0;
  double send_overlap = 0;  // share of a send in the steady state that is overlapped
  double closing = 0;       // seconds once per step: host, stalls of the software
  int num_teams() const { return static_cast<int>(ranks.size()); }
};

// Whether collectives and messages leave the fast domain (node, or NVLink domain).
struct WireUse {
  bool collectives_outside = false;  // collectives of teams
  bool messages_outside = false;     // messages between stages
  bool reduction_outside = false;
};

struct StepWork {
  Prediction prediction;
  plan::Schedule schedule = plan::Schedule::k1f1b;
  int depth = 1;                   // pipeline ranks; physical ones, also in DualPipe
  std::vector<int> rank_of_stage;  // pipeline rank of each virtual stage (DualPipe: one of the two)
  std::vector<LaneWork> lanes;
  WireUse wires;
  std::vector<double> reduce;  // seconds by virtual stage, once per step
  double reduce_overlap = 0;   // share of the concurrent compute that a reduction can use
  // Reductions run only after the last pass of the rank, without overlap.
  bool reduces_last = false;
  double closing = 0;              // seconds after all reductions: optimizer, tied weights
  std::vector<double> held;        // bytes by pipeline rank, without activations in flight
  std::vector<double> activation;  // bytes by pipeline rank for one micro-batch on one chunk
  std::optional<LayerGraph> layers;
  int num_stages() const { return static_cast<int>(rank_of_stage.size()); }
};

}  // namespace nereus::cost
