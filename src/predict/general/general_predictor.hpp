// The time and memory of one training step of any placement (plan/placement.hpp), from the same
// functions as for regular plans (predict/predictor.hpp). If a placement is regular, both
// predictors agree to 1e-9.
//
//   time of a lane = max_i (W_i - T_i / v) + sum_i T_i / v        over physical stages i
//                    + transfers + exposed reduction + optimizer + host
//                    W_i = seconds of all micro-batches, T_i = of the first one,
//                    v = virtual stages per rank
//   step           = the slowest lane
// Teams are explained in plan/placement.hpp, stages and lanes in predict/general/layout.hpp, the
// time of a lane on a stage in predict/general/team_work.hpp, and the memory of each rank in
// predict/general/teams.hpp.
//
// Supported: uneven layers per stage; teams with different shapes, samples and micro-batch counts
// in parallel; mixed machines (a team is as fast as its slowest machine, a collective as its
// slowest wire); uneven and empty state shares, in any tier, with peer copies (which only use
// memory); different rank sets from layer to layer, with the samples that move in between; all
// `gather` modes; recompute of the first layers of a run.
//
// Approximations, in addition to those of the formulas:
//   - Only if samples are redistributed does a stage wait for its slowest lane before the next
//     stage starts. Otherwise lanes wait for each other only at the reduction (and, if weights are
//     sharded, at each layer).
//   - Runs of one stage follow one another, even if their ranks are disjoint; branches of a graph
//     do not run concurrently.
//   - A rank's look-ups are counted as if every rank of its group had as many samples. The memory
//     tier of the first slice of a model's tables is used for all slices.
//   - The groups of one tensor slice represent those of all slices. If teams cut the state
//     differently, it is reduced as the first team cuts it.
//   - Runs with equally sharded state are reduced together. All groups of a stage are reduced one
//     after the other, and the slowest stage decides.
//   - All boundaries between the same two kinds of machine cost as much as the worst of them.
//   - Contention is only modeled for a node's network cards.
// The placement must have passed plan/check.hpp. If it has more than one stage, its schedule must
// have a closed form (cost/pipeline_time.hpp). DualPipe's closed form is not supported: it applies
// to pairs of equal stages, and so only to regular plans.
//
//   GeneralPredictor predictor(model, cluster, basis);
//   Prediction p = predictor.predict(placement);        // keeps layer costs for later calls
//   Prediction q = predict(placement, model, cluster, basis);
#pragma once

#include <memory>
#include <vector>

#include "cluster/cluster.hpp"
#include "cost/basis.hpp"
#include "model/model.hpp"
#include "plan/placement.hpp"
#include "predict/prediction.hpp"
#include "predict/step_work.hpp"

namespace nereus::cost {

bool has_general_form(plan::Schedule schedule);

// `model` and `cluster` must outlive the predictor. Only one thread may use a predictor at a time.
class GeneralPredictor {
 public:
  GeneralPredictor(const model::Model& model, const cluster::Cluster& cluster, const Basis& basis);
  ~GeneralPredictor();
  GeneralPredictor(GeneralPredictor&&) noexcept;

  Prediction predict(const plan::Placement& placement);
  // The passes, messages and reductions of the step, for the simulator.
  StepWork work(const plan::Placement& placement);

  // For searches that choose shares by the free memory: bytes used on every rank's device, and the
  // device's capacity.
  struct RankBytes {
    double total = 0;
    double capacity = 0;
  };
  std::vector<RankBytes> memory_by_rank(const plan::Placement& placement);
  // For searches that divide layers: device seconds of every layer, forward and backward, for one
  // micro-batch of the first team of its run.
  std::vector<double> layer_seconds(const plan::Placement& placement);

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

Prediction predict(const plan::Placement& placement, const model::Model& model,
                   const cluster::Cluster& cluster, const Basis& basis);

// Expands a regular plan with the stack's division of layers into stages, or with that of
// plan/stages.hpp if the stack's would leave a stage empty.
plan::Placement expand_for(const plan::Degrees& degrees, const model::Model& model,
                           const Stack& stack);

}  // namespace nereus::cost
