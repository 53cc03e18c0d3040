// All facts about a placement that are known before the costs of its layers are computed.
//
//   Context context{placement, model, options, wires, costs, clock, read_layout(placement, wires),
//                   read_state(placement, wires)};
#pragma once

#include <algorithm>
#include <vector>

#include "predict/general/layout.hpp"
#include "predict/general/state.hpp"
#include "predict/general/team_costs.hpp"
#include "schedule/clock.hpp"

namespace nereus::cost::general {

struct Context {
  const plan::Placement& placement;
  const model::Model& model;
  const StackOptions& options;
  Wires& wires;
  LayerCosts& costs;
  schedule::Clock& clock;
  Layout layout;
  std::vector<RunState> states;
  Sharing sharing = Sharing::kCopies;

  const plan::LayerRun& run(int index) const { return placement.runs[index]; }
  int run_of_layer(int layer) const {
    int index = 0;
    while (layer >= run(index).first_layer + run(index).num_layers) ++index;
    return index;
  }
  // Number of layers of the run with dense weights (if `dense`) or expert weights (if `experts`).
  // Embedding tables do not count: they are read in place, row by row, so a whole layer is never
  // transferred.
  int layers_with_weights(const plan::LayerRun& run, bool dense, bool experts) const {
    int count = 0;
    for (int i = run.first_layer; i < run.first_layer + run.num_layers; ++i) {
      if (i == model.table_layer()) continue;
      const model::LayerKind& kind = model.layer(i);
      const double own = kind.expert_parameters();
      count += (dense && kind.parameters() > own) || (experts && own > 0) ? 1 : 0;
    }
    return count;
  }
  // Tied parameters in a slice of the run that the first of the two tied layers already holds on
  // the same physical stage.
  double tied_in(int index, int cut) const {
    double parameters = 0;
    for (const model::TiedWeights& tied : model.tied)
      if (run_of_layer(tied.second) == index &&
          layout.stage_of_run[run_of_layer(tied.first)] == layout.stage_of_run[index])
        parameters += tied.parameters / (placement.split_vocabulary ? cut : 1);
    return parameters;
  }
  // How often sharded weights are all-gathered: under a pipeline once per step, whatever the plan's
  // `gather` is.
  plan::Gather gather() const {
    return layout.pipeline.depth > 1 ? plan::Gather::kPerStep : placement.gather;
  }
  bool keeps_whole() const { return gather() == plan::Gather::kPerStep; }
  bool gathers_each() const { return sharing == Sharing::kWeights && !keeps_whole(); }
  // Whether a slice's gradients are reduced in every micro-batch although its weights are whole
  // (ZeRO-2). Layer by layer (Gather::kPerPass) a layer's gradients are reduced once.
  bool reduces_each(const SliceState& slice) const {
    return slice.gradients_divided && !slice.weights.divided &&
           gather() == plan::Gather::kPerMicroBatch && options.zero2 != Zero2Rule::kReduceOnce;
  }
  bool gathers_forward() const {
    return sharing == Sharing::kOptimizer && options.zero2 == Zero2Rule::kGatherEach &&
           std::any_of(states.begin(), states.end(), [&](const RunState& state) {
             return reduces_each(state.dense) || reduces_each(state.experts);
           });
  }
  // Whether gradients that are sharded once the step ends are whole before.
  bool keeps_gradients(const plan::LayerRun& run) const {
    double most = 0;
    for (const plan::Replicas& r : run.replicas) most = std::max(most, rounds(r).count());
    return keeps_whole() || (sharing != Sharing::kWeights && cost::keeps_gradients(options, most));
  }
  // Weights that are gathered once per step need the same collectives as a sharded optimizer.
  Sharing reduced_as() const {
    if (gathers_forward()) return Sharing::kWeights;
    return sharing == Sharing::kWeights && keeps_whole() ? Sharing::kOptimizer : sharing;
  }
  Rounds rounds(const plan::Replicas& replicas) const {
    return rounds_of(replicas, layout.pipeline.depth, options);
  }
  bool pipelined_across_nodes() const {
    return layout.pipeline.depth > 1 && !wires.same_node(layout.lowest_rank, layout.highest_rank);
  }
};

}  // namespace nereus::cost::general
