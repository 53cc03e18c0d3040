// The time that the lanes of a placement spend on its layers.
//
// A lane is as fast as the slowest of its machines. If weights are sharded and gathered for every
// micro-batch, lanes wait for each other at every layer: the segment then takes the sum over its
// layers of the slowest lane's time, for the largest number of micro-batches of any lane. If
// weights are gathered per pass (all micro-batches pass a layer before the next), a layer takes the
// slowest lane's time for all its micro-batches, and weights are gathered once. Otherwise lanes are
// independent until the step ends.
//
// Under a pipeline, sharded weights are gathered once per step and kept, whatever `gather` is,
// because every stage needs them for each micro-batch.
//
// If layers run on different ranks (burst) and process the whole batch at once, the stage takes as
// long as the longest path through its layers and through the samples that move along the model's
// edges (cost/layer_graph.hpp): branches on different ranks run concurrently.
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

// Times of one lane on one physical stage, over the whole step.
struct LaneTime {
  StageTime all;
  double one = 0;     // seconds of its first micro-batch
  double passes = 0;  // part of `one` without weight gradients (cost/stage_time.hpp)
  double backward = 0;
  double moved = 0;  // seconds to move samples between ranks of different segments
  double num_micro_batches = 0;
  // The share of the layers' seconds that is on the longest path; layers off the path run
  // concurrently with it.
  double on_path = 1;
  double total() const { return all.total + moved; }
};

class Work {
 public:
  explicit Work(Context& context) : context_(context), moves_(context) {}

  // One entry per lane if lanes run through the plan independently, else one.
  std::vector<LaneTime> stage(int index);
  // Times of a run's layers for the lane's first micro-batch, on the lane's first kind of machine.
  LayerTime layers_of(int run, const Lane& lane);
  // The step layer by layer, if layers run on different ranks and there is only one micro-batch.
  std::optional<LayerGraph> layer_graph();

 private:
  // `count` equal layers of a run; the lanes either all recompute them or none does.
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
