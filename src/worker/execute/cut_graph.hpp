// A step's CUDA graph as many short ones, each a piece that waits for its turn
// (worker/state/pieces.hpp).
//
// Launches of a graph, in an order that its edges allow, are chained anew in graphs of at most
// kPiece seconds; a launch that takes longer is a piece of its own, and shorter than one launch no
// piece can be. What a launch takes is what the first of its kind took (the same function on the
// same grid), which ran alone for that; a piece is thought to take the sum until it has run.
//
//   StepGraph graph;
//   graph.capture([&] { passes(); }, StepGraph::Kept::kYes);
//   CutGraph cut(graph);
//   if (cut.is_built()) cut.replay(pieces);      // else the graph holds what cannot be moved
//
// After DeepPool (MLSys 2022), whose background job is cut where a captured graph is one node wide
// and in pieces of at least 0.5 ms.
#pragma once

#include <cstddef>
#include <memory>

#include "worker/device/gpu.hpp"
#include "worker/state/pieces.hpp"

namespace nereus::worker {

class CutGraph {
 public:
  static constexpr double kPiece = 100e-6;

  explicit CutGraph(StepGraph& graph);
  ~CutGraph();
  CutGraph(const CutGraph&) = delete;
  CutGraph& operator=(const CutGraph&) = delete;
  bool is_built() const;
  void replay(Pieces& pieces);
  std::size_t num_pieces() const;  // once it has run

 private:
  struct Held;
  std::unique_ptr<Held> held_;
};

}  // namespace nereus::worker
