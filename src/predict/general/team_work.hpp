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
// Where layers have ranks of their own (burst) and go once through the whole batch, the stage takes
// the longest path through its layers and the samples that move along the model's edges
// (cost/layer_graph.hpp): branches on other ranks run beside each other.
//
//   Work work(context);
//   std::vector<LaneTime> lanes = work.stage(0);
#pragma once

#include <optional>
#include <vector>

#include "cost/layer_graph.hpp"
#include "cost/stage_time.hpp"
#include "predict/general/context.hpp"
#include "predict/general/layer_moves.hpp"

namespace nereus::cost::general {

// Of one lane on one physical stage, over the whole step.
struct LaneTime {
  StageTime all;
  double one = 0;     // seconds of its first micro-batch
  double passes = 0;  // of it without weight gradients (cost/stage_time.hpp)
  double backward = 0;
  double moved = 0;  // seconds in which samples change ranks between segments
  double num_micro_batches = 0;
  // Of a graph's layers the share, in seconds, that the longest path goes through: the others run
  // beside them.
  double on_path = 1;
  double total() const { return all.total + moved; }
};

class Work {
 public:
  explicit Work(Context& context) : context_(context), moves_(context) {}

  // One entry per lane where lanes run through the plan on their own, else one.
  std::vector<LaneTime> stage(int index);
  // A run's layers for the lane's first micro-batch, on its first machine.
  LayerTime layers_of(int run, const Lane& lane);
  // Layer by layer, where layers have ranks of their own and one micro-batch is all.
  std::optional<LayerGraph> layer_graph();

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

  bool plays_layers() const;
  void add_layers(const Segment& segment, LayerGraph& graph);
  void add_moves(LayerGraph& graph);
  LaneTime on_longest_path(const std::vector<LaneTime>& segments);
  std::vector<LayerClass> classes_of(const Segment& segment) const;
  std::vector<LaneTime> segment_times(const Segment& segment);
  LaneTime on_its_own(const Segment& segment, const std::vector<LayerClass>& classes,
                      const Lane& lane);
  LaneTime together(const Segment& segment, const std::vector<LayerClass>& classes);
  StageTime slowest_of(const Segment& segment, const std::vector<LayerClass>& classes,
                       const std::vector<Active>& active);
  LayerTime time_of(const LayerClass& layers, const Lane& lane, int machine, const Rounds& rounds);
  double shard(const Segment& segment, const Lane& lane);
  double copies(const Segment& segment, const std::vector<LayerClass>& classes,
                const Active& active);

  Context& context_;
  Moves moves_;
};

}  // namespace nereus::cost::general
