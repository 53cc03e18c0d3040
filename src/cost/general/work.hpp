// The time that the lanes of a placement spend on its layers.
//
// A lane takes the slowest of its machines. Lanes whose weights are divided and gathered for every
// micro-batch wait for each other at every layer: the segment then takes the sum over layers of the
// slowest lane, for as many micro-batches as any lane has. Gathered per pass (all micro-batches of
// a layer before the next), a layer takes the slowest lane's micro-batches together, and what is
// gathered is gathered once. Otherwise lanes are on their own until the step ends.
//
// Under a pipeline divided weights are gathered once a step and kept, whatever `gather` says: every
// stage needs them again for each micro-batch.
//
//   Work work(context);
//   std::vector<LaneTime> lanes = work.stage(0);
#pragma once

#include <vector>

#include "cost/general/costs.hpp"
#include "cost/general/layout.hpp"
#include "cost/general/state.hpp"
#include "cost/stage.hpp"

namespace nereus::cost::general {

// Everything that is known of a plan before its layers are costed.
struct Context {
  const plan::Placement& placement;
  const model::Model& model;
  const StackOptions& options;
  Wires& wires;
  LayerCosts& costs;
  Layout layout;
  std::vector<RunState> states;
  Sharing sharing = Sharing::kCopies;

  const plan::LayerRun& run(int index) const {
    return placement.runs[static_cast<std::size_t>(index)];
  }
  // How divided weights really come together.
  plan::Gather gather() const {
    return layout.pipeline.depth > 1 ? plan::Gather::kPerStep : placement.gather;
  }
  bool keeps_whole() const { return gather() == plan::Gather::kPerStep; }
  bool gathers_each() const { return sharing == Sharing::kWeights && !keeps_whole(); }
  Rounds rounds(const plan::Replicas& replicas) const {
    return rounds_of(replicas, layout.pipeline.depth, options);
  }
  bool pipelined_across_nodes() const {
    return layout.pipeline.depth > 1 && !wires.same_node(layout.lowest_rank, layout.highest_rank);
  }
};

// Of one lane on one physical stage, over the whole step.
struct LaneTime {
  StageTime all;
  double one = 0;    // seconds of its first micro-batch
  double moved = 0;  // seconds in which samples change ranks between segments
  double num_micro_batches = 0;
  int machine = 0;  // kind of the slowest
  double total() const { return all.total + moved; }
};

class Work {
 public:
  explicit Work(Context& context) : context_(context) {}

  // One entry per lane where lanes run through the plan on their own, else one.
  std::vector<LaneTime> stage(int index);

 private:
  // Equal layers of a run: `count` of a kind, all recomputed or none by any lane.
  struct LayerClass {
    int run = 0;
    int kind = 0;
    int position = 0;
    int count = 0;
  };
  struct Active {
    const Lane* lane = nullptr;
    Rounds rounds;
  };

  std::vector<LayerClass> classes_of(const Segment& segment) const;
  std::vector<LaneTime> segment_times(const Segment& segment);
  LaneTime on_its_own(const Segment& segment, const std::vector<LayerClass>& classes,
                      const Lane& lane);
  LaneTime together(const Segment& segment, const std::vector<LayerClass>& classes);
  StageTime slowest_of(const Segment& segment, const std::vector<LayerClass>& classes,
                       const std::vector<Active>& active, int& machine);
  LayerTime time_of(const LayerClass& layers, const Lane& lane, int machine, const Rounds& rounds);
  double shard(const Segment& segment, const Lane& lane);
  double copies(const Segment& segment, const std::vector<LayerClass>& classes,
                const Active& active);

  Context& context_;
};

// Seconds in one step in which samples move from the ranks of one segment to those of the next,
// forward, and their gradients back.
double moved_seconds(Context& context, const Segment& from, const Segment& to);

}  // namespace nereus::cost::general
