// A step in which each layer may run on different ranks (burst plans), layer by layer: which ranks
// compute each layer, for how long, and what moves in between. Branches of a graph on different
// ranks run concurrently.
//
// The rules are those of the planner (search/burst/problem.hpp):
//
//   layer    starts when its inputs have arrived and its ranks are free; occupies its ranks
//   move     between layers that share a rank: starts when the previous layer has ended and the
//            ranks of both are free, and occupies them. Between layers that share no rank:
//            concurrent with everything
//   order    layers on the same ranks run in the model's order
//
// In the closed form, forward and backward of a layer count as one, as do both directions of a
// move:
//
//   step = the longest path of layers, moves and waits for ranks
//
// This is the time that the planner computes: for concurrent branches the longest, for branches on
// the same ranks the sum. A simulation with separate passes (simulate/played_layers.hpp) is never
// slower, because max(F + B, F' + B') <= max(F, F') + max(B, B'), and it takes the same time if all
// branches spend the same share of their time in forward.
//
//   LayerPath path = longest_path(graph);
//   path.seconds;
#pragma once

#include <vector>

namespace nereus::cost {

struct PlacedLayer {
  int layer = 0;               // index in the model
  std::vector<int> classes{};  // classes of ranks that compute it, ascending
  double forward = 0;          // seconds
  double backward = 0;
  double seconds() const { return forward + backward; }
};

struct LayerMove {
  int from = 0;  // index into `layers`, of the earlier layer
  int to = 0;
  double each_way = 0;  // seconds: samples in the forward pass, gradients in the backward pass
};

struct LayerGraph {
  std::vector<std::vector<int>> classes{};  // ranks that do the same in every layer form a class
  std::vector<PlacedLayer> layers{};        // in the model's order, which every edge follows
  std::vector<LayerMove> moves{};        // sorted by `to`; includes edges along which nothing moves
  bool shares_rank(int a, int b) const;  // whether two layers share a rank
};

struct LayerPath {
  double seconds = 0;
  std::vector<int> layers{};  // indices, in order
  std::vector<int> moves{};
};
LayerPath longest_path(const LayerGraph& graph);

}  // namespace nereus::cost
