// Samples that change ranks between two segments.
//
// A rank of the next segment receives those of its samples that it did not compute in the previous
// segment. A rank of the previous segment sends those that it does not compute in the next one.
// Between teams of different shapes, all samples move. All ranks send at the same time, so the rank
// with the most bytes in or out decides. Gradients take the reverse path. Micro-batches are moved
// one by one:
//   seconds = 2 m send(most bytes / m)
//
//   Moves moves(context);
//   double seconds = moves.seconds(stage.segments[0], stage.segments[1]);   // per step
//   seconds = moves.of_edge(edge);            // between any two layers; 0 if their ranks are equal
#pragma once

#include <cstdint>
#include <vector>

#include "predict/general/context.hpp"

namespace nereus::cost::general {

class Moves {
 public:
  explicit Moves(Context& context) : context_(context) {}
  double seconds(const Segment& from, const Segment& to);
  double of_edge(const model::Edge& edge);

 private:
  struct Pattern {
    const plan::LayerRun* before = nullptr;
    const plan::LayerRun* after = nullptr;
    std::vector<std::int64_t> out;  // samples sent, per Replicas of the run before
    std::vector<std::int64_t> in;   // samples received, per Replicas of the run after
    int wire = 0;
    bool same_domain = true;
  };
  Pattern pattern_of(const plan::LayerRun& before, const plan::LayerRun& after);
  // `share` is the part of the layer's output that moves.
  double between(const plan::LayerRun& before, const plan::LayerRun& after, int kind, double share);

  Context& context_;
  std::vector<Pattern> patterns_;
};

}  // namespace nereus::cost::general
