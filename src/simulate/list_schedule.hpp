// Simulates a graph of nodes on a few lanes. A lane runs one node at a time, and starts the ready
// node with the lowest number. Deterministic, integer time, O(nodes log nodes).
//
//   Graph graph;
//   const int a = graph.add({.lane = kCompute, .duration = 5});
//   graph.add({.lane = kNetwork, .duration = 7, .after = {a}});
//   run(graph).end;   // 12
//
// A node is ready when all nodes it waits for are done. Nodes may only wait for nodes that were
// added before them, so there is no cycle.
#pragma once

#include <cstdint>
#include <vector>

namespace nereus::simulate {

struct GraphNode {
  int lane = 0;
  std::int64_t duration = 0;    // in any unit of time
  std::vector<int> after = {};  // numbers of the nodes it waits for
};

class Graph {
 public:
  int add(GraphNode node);  // returns its number
  const std::vector<GraphNode>& nodes() const { return nodes_; }
  int num_lanes() const { return num_lanes_; }

 private:
  std::vector<GraphNode> nodes_;
  int num_lanes_ = 0;
};

struct ListSchedule {
  std::vector<std::int64_t> starts;  // per node
  std::vector<std::int64_t> busy;    // per lane
  std::int64_t end = 0;
};

ListSchedule run(const Graph& graph);

}  // namespace nereus::simulate
