// A step whose layers have ranks of their own (burst plans), layer by layer: who computes each, for
// how long, and what moves between them. Branches of a graph on different ranks run side by side.
//
// The rules are those of the planner (search/burst/problem.hpp):
//
//   layer    starts when its inputs are there and its ranks are free; holds its ranks
//   move     between layers that share a rank: starts when the layer before has ended and the ranks
//            of both are free, and holds them. Between layers that share none: beside everything
//   order    of layers on the same ranks is the model's
//
// In closed form forward and backward of a layer, and both ways of a move, count as one:
//
//   step = the longest path of layers, moves and waits for ranks
//
// which is the planner's time: of branches side by side the longest, of those on the same ranks the
// sum. A play with both passes apart (simulate/played_layers.hpp) never takes less, for
// max(F + B, F' + B') <= max(F, F') + max(B, B'), and as much where all have the same share of
// forward.
//
//   LayerPath path = longest_path(graph);
//   path.seconds;
#pragma once

#include <vector>

namespace nereus::cost {

struct PlacedLayer {
  int layer = 0;               // of the model
  std::vector<int> classes{};  // of ranks that compute it, ascending
  double forward = 0;          // seconds
  double backward = 0;
  double seconds() const { return forward + backward; }
};

struct LayerMove {
  int from = 0;  // index into layers, before
  int to = 0;
  double each_way = 0;  // seconds: samples forward, gradients back
};

struct LayerGraph {
  std::vector<std::vector<int>> classes{};  // ranks that do the same in every layer
  std::vector<PlacedLayer> layers{};        // in the model's order, which every edge follows
  std::vector<LayerMove> moves{};           // by `to`; edges along which nothing moves too
  bool shares_rank(int a, int b) const;     // layers
};

struct LayerPath {
  double seconds = 0;
  std::vector<int> layers{};  // indices, in order
  std::vector<int> moves{};
};
LayerPath longest_path(const LayerGraph& graph);

}  // namespace nereus::cost
