// A step layer by layer (cost/layer_graph.hpp), played: first all layers forward, then all of them
// back in the opposite order, moves in between each way on its own. When each rank computes, when
// it takes part in a move, when it waits.
//
// Ranks that do the same are one class, so that the play's size does not grow with the ranks.
//
//   PlayedGraph played = play_layers(graph);
//   played.classes[0].held;                // what the first class of ranks does when
#pragma once

#include <vector>

#include "cost/layer_graph.hpp"
#include "simulate/pipeline/jitter.hpp"

namespace nereus::simulate {

struct HeldSpan {
  Picoseconds start = 0;
  Picoseconds end = 0;
  int layer = -1;         // index of the graph's layers; -1: a move
  bool backward = false;  // the pass it belongs to
  bool operator==(const HeldSpan&) const = default;
};

struct PlayedClass {
  std::vector<HeldSpan> held;  // in order, apart
  Picoseconds computes = 0;
  Picoseconds moves = 0;
  Picoseconds idle_forward = 0;  // until the forward pass of all has ended
  Picoseconds idle_backward = 0;
};

struct PlayedGraph {
  std::vector<PlayedClass> classes;
  Picoseconds forward = 0;  // when the forward pass of all layers has ended
  Picoseconds end = 0;
  std::int64_t events = 0;  // starts and ends of layers and moves
};

PlayedGraph play_layers(const cost::LayerGraph& graph);

}  // namespace nereus::simulate
