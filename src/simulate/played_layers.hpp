// Simulates a step layer by layer (cost/layer_graph.hpp): first the forward pass of all layers,
// then the backward pass in the opposite order, with separate moves (of samples or their gradients
// between ranks) in each direction. The result shows when each rank computes, takes part in a move,
// or waits.
//
// Ranks that do the same in every layer form one class, so the size of the simulation does not grow
// with the number of ranks.
//
//   PlayedGraph played = play_layers(graph);
//   played.classes[0].held;                // what the first class of ranks does, and when
#pragma once

#include <vector>

#include "cost/layer_graph.hpp"
#include "simulate/pipeline/jitter.hpp"

namespace nereus::simulate {

struct HeldSpan {
  Picoseconds start = 0;
  Picoseconds end = 0;
  int layer = -1;         // index in the graph's layers; -1: a move
  bool backward = false;  // whether it belongs to the backward pass
  bool operator==(const HeldSpan&) const = default;
};

struct PlayedClass {
  std::vector<HeldSpan> held;  // in order, not overlapping
  Picoseconds computes = 0;
  Picoseconds moves = 0;
  Picoseconds idle_forward = 0;  // until the forward pass of all layers has ended
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
