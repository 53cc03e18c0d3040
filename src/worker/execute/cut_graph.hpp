// Cuts a step's CUDA graph into many short graphs; each is a piece that waits for its turn
// (worker/state/pieces.hpp).
//
// The launches of a graph, in an order that its edges allow, are chained in new graphs of at most
// kPiece seconds. A launch that takes longer is a separate piece, since no piece can be shorter
// than one launch. The first launch of each kind (same function, same grid) is measured as a
// separate piece, and its time is the estimate for all launches of that kind. The estimate for a
// piece is the sum over its launches, until the piece has run.
//
//   StepGraph graph;
//   graph.capture([&] { passes(); }, StepGraph::Kept::kYes);
//   CutGraph cut(graph);
//   if (cut.is_built()) cut.replay(pieces);      // else the graph has parts that cannot be moved
//
// Follows DeepPool (MLSys 2022), which cuts its background job where a captured graph is one node
// wide, into pieces of at least 0.5 ms.
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
  std::size_t num_pieces() const;  // known once it has run

 private:
  struct Held;
  std::unique_ptr<Held> held_;
};

}  // namespace nereus::worker
