// A graph of nodes on a few lanes, each lane doing one node at a time: of those that are ready it
// starts the one of the lowest number. Deterministic, integer time, O(nodes log nodes).
//
//   Graph graph;
//   const int a = graph.add({.lane = kCompute, .duration = 5});
//   graph.add({.lane = kNetwork, .duration = 7, .after = {a}});
//   run(graph).end;   // 12
//
// A node is ready when all it waits for is done. Nodes wait only for nodes added before them, so
// there is no cycle.
#pragma once

#include <cstdint>
#include <vector>

namespace nereus::simulate {

struct GraphNode {
  int lane = 0;
  std::int64_t duration = 0;    // in the caller's unit of time
  std::vector<int> after = {};  // numbers of the nodes it waits for
};

class Graph {
 public:
  int add(GraphNode node);  // its number
  const std::vector<GraphNode>& nodes() const { return nodes_; }
  int num_lanes() const { return num_lanes_; }

 private:
  std::vector<GraphNode> nodes_;
  int num_lanes_ = 0;
};

struct ListSchedule {
  std::vector<std::int64_t> starts;  // of each node
  std::vector<std::int64_t> busy;    // of each lane
  std::int64_t end = 0;
};

ListSchedule run(const Graph& graph);

}  // namespace nereus::simulate
