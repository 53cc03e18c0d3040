// What one training step consists of, for the simulator: the passes of every lane on every virtual
// stage, what travels between stages, what is reduced at the end. Sums of these numbers are what
// predict/predictor.hpp and predict/general/general_predictor.hpp predict in closed form.
//
// A lane is a set of teams that act alike (same samples, same kinds of machine) and run through all
// stages. Where teams wait for each other at every layer (divided weights) or hand samples over
// anew (another set of ranks from layer to layer), one lane stands for all of them, each pass as
// long as its slowest team's; `joint` says so.
//
// Burst plans, whose layers have ranks of their own and one micro-batch, also carry their layers
// one by one (`layers`), for a play in which branches run beside each other.
//
// A rank's time for a micro-batch, host and sharding included, is divided among the passes of its
// virtual stages in the measure of what each takes alone (predict/played.hpp).
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

// Seconds of one micro-batch on one virtual stage. A whole backward pass is recompute, input and
// weight.
struct PassSeconds {
  double forward = 0;
  double recompute = 0;
  double input = 0;   // gradient for the stage before
  double weight = 0;  // gradient of the stage's own weights
  double backward() const { return recompute + input + weight; }
  double total() const { return forward + backward(); }
};

struct LaneWork {
  bool joint = false;
  int ranks_per_team = 1;
  std::vector<std::vector<int>> ranks;  // of each team, the first on each pipeline rank
  int num_micro_batches = 1;
  std::vector<PassSeconds> passes;  // by virtual stage
  std::vector<PassSeconds> last;    // of the last micro-batch where it is smaller, else empty
  std::vector<double> send;         // by virtual stage: seconds of its output to the next; or 0
  // Share of each virtual stage's passes in which the device waits for collectives of its team
  // (tensor, context, experts, gathering of divided weights).
  std::vector<double> communication;
  double send_overlap = 0;  // share of a send in the steady state that costs nothing
  double closing = 0;       // seconds once a step: host, stalls of the software
  int num_teams() const { return static_cast<int>(ranks.size()); }
};

// Which traffic leaves the fast domain (node, or NVLink domain).
struct WireUse {
  bool collectives_outside = false;  // of teams
  bool messages_outside = false;     // between stages
  bool reduction_outside = false;
};

struct StepWork {
  Prediction prediction;
  plan::Schedule schedule = plan::Schedule::k1f1b;
  int depth = 1;                   // pipeline ranks; physical ones, also under DualPipe
  std::vector<int> rank_of_stage;  // pipeline rank of each virtual stage (DualPipe: one of the two)
  std::vector<LaneWork> lanes;
  WireUse wires;
  std::vector<double> reduce;      // seconds by virtual stage, once a step
  double reduce_overlap = 0;       // share of the compute beside it that a reduction can use
  bool reduces_last = false;       // only after the last pass of the rank: nothing to hide behind
  double closing = 0;              // after all reductions: optimizer, tied weights
  std::vector<double> held;        // bytes by pipeline rank without activations in flight
  std::vector<double> activation;  // bytes by pipeline rank of one micro-batch on one chunk
  std::optional<LayerGraph> layers;
  int num_stages() const { return static_cast<int>(rank_of_stage.size()); }
};

}  // namespace nereus::cost
