// Samples that change ranks between two segments.
//
// A rank of the next segment needs those of its samples that it did not compute in the last one; a
// rank of the last one sends those that it does not go on with. Teams of another shape keep
// nothing. All send at once, so the rank with the most bytes in or out decides; gradients take the
// same way back. Micro-batches go one by one:
//   seconds = 2 m send(most bytes / m)
//
//   Moves moves(context);
//   double seconds = moves.seconds(stage.segments[0], stage.segments[1]);   // in one step
//   seconds = moves.of_edge(edge);            // between any two layers, 0 where ranks are the same
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
    std::vector<std::int64_t> out;  // samples, by the Replicas before
    std::vector<std::int64_t> in;   // samples, by the Replicas after
    int wire = 0;
    bool same_domain = true;
  };
  Pattern pattern_of(const plan::LayerRun& before, const plan::LayerRun& after);
  // `share` of what a layer of the kind hands on.
  double between(const plan::LayerRun& before, const plan::LayerRun& after, int kind, double share);

  Context& context_;
  std::vector<Pattern> patterns_;
};

}  // namespace nereus::cost::general
