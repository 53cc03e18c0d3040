// The time and memory of one training step of any placement (plan/placement.hpp), from the same
// functions as regular plans (predict/predictor.hpp); where a placement is regular both agree to
// 1e-9.
//
//   time of a lane = max_i (W_i - T_i / v) + sum_i T_i / v        over physical stages i
//                    + transfers + reduction left exposed + optimizer + host
//   step           = the slowest lane
// How stages and lanes come about is in predict/general/layout.hpp, what a lane does on a stage in
// predict/general/team_work.hpp, what each rank keeps in predict/general/teams.hpp.
//
// What is covered: uneven layers per stage; teams of different shapes, samples and micro-batch
// counts side by side; mixed machines (a team takes the slowest of its own, a collective the
// slowest wire); uneven and empty state shares, in any tier, with peer copies (which take memory
// only); other rank sets from layer to layer, with the samples that move in between; all `gather`
// modes; recompute of the first layers of a run.
//
// Approximations, beside those of the formulas themselves:
//   - A stage waits for its slowest lane before the next can start only where samples are handed
//     out anew; else lanes meet only at the reduction (and, if weights are divided, at each layer).
//   - Runs of one stage follow one another, also where their ranks are disjoint; branches of a
//     graph do not run side by side.
//   - A rank's look-ups are counted as if its whole group brought as many samples as it does; the
//     first slice's place (device or a tier beyond it) stands for all slices of a model's tables.
//   - Groups of one tensor slice stand for all slices; state cut in several ways is reduced as the
//     first team cuts it.
//   - Runs whose state is divided alike are reduced together; all of a stage's groups one after the
//     other, and the slowest stage decides.
//   - All boundaries between the same two kinds of machine cost what the worst of them does.
//   - Contention beyond a node's cards is left out.
// The placement must have passed plan/check.hpp, and with more than one stage its schedule must
// have a closed form (cost/pipeline_time.hpp) other than DualPipe's, which holds for pairs of equal
// stages: regular plans alone.
//
//   GeneralPredictor predictor(model, cluster, basis);
//   Prediction p = predictor.predict(placement);        // keeps layer costs for the next one
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

// `model` and `cluster` must outlive the predictor. One thread at a time.
class GeneralPredictor {
 public:
  GeneralPredictor(const model::Model& model, const cluster::Cluster& cluster, const Basis& basis);
  ~GeneralPredictor();
  GeneralPredictor(GeneralPredictor&&) noexcept;

  Prediction predict(const plan::Placement& placement);
  // What the step is made of, for the simulator.
  StepWork work(const plan::Placement& placement);

  // For searches that set shares by what is left: bytes on every rank's device, and its capacity.
  struct RankBytes {
    double total = 0;
    double capacity = 0;
  };
  std::vector<RankBytes> memory_by_rank(const plan::Placement& placement);
  // For searches that divide layers: device seconds of every layer for one micro-batch of the first
  // team of its run, forward and backward.
  std::vector<double> layer_seconds(const plan::Placement& placement);

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

Prediction predict(const plan::Placement& placement, const model::Model& model,
                   const cluster::Cluster& cluster, const Basis& basis);

// The placement of a regular plan with its layers on stages as the stack puts them; as
// plan/stages.hpp does where that would leave a stage empty.
plan::Placement expand_for(const plan::Degrees& degrees, const model::Model& model,
                           const Stack& stack);

}  // namespace nereus::cost
