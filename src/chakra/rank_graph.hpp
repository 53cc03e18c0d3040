// The graph of one pipeline rank: its compute and communication nodes in a step, and the
// dependencies of each. The ranks of a stage share it; their groups and peers are filled in when a
// rank is written.
//
//   compute nodes    in the order of the schedule, each after the previous one
//   collectives      of a layer come before and after its compute node, in the same chain; those of
//                    keys and values run concurrently with it
//   sends            after the last node of a pass, concurrent with what follows
//   receives         after the previous pass; the pass waits for them
//   gradients        reduced after the layer's last backward pass, concurrent with what follows (if
//                    the plan has no data overlap: one after the other at the end)
//   optimizer        after everything, followed by the all-gather of updated weights
//
// Nodes are numbered from 1 in an order that respects all dependencies, so the graph has no cycle.
// A simulator that starts ready nodes in the order of their numbers starts the collectives of a
// group in the same order on all ranks of the group.
//
// Durations are whole microseconds: each node's duration is the difference of rounded cumulative
// sums, so that the total of a rank is accurate to half a microsecond.
//
//   RankGraph graph = make_graph(work, 0);
//   graph.nodes.back().type;
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chakra/step_layers.hpp"

namespace nereus::chakra {

// What a node does, for its name.
enum class Action : std::uint8_t {
  kForward,
  kBackward,
  kInput,
  kWeight,
  kRecompute,
  kOptimizer,
  kSend,
  kReceive,
  kCollective
};

struct GraphNode {
  NodeType type = NodeType::kCompute;
  Action action = Action::kForward;
  int layer = -1;
  int micro_batch = -1;
  std::vector<std::uint64_t> after;  // numbers (index + 1) of the nodes that it waits for
  // Compute.
  std::uint64_t microseconds = 0;
  std::int64_t flops = 0;
  std::int64_t bytes = 0;  // moved, or sent
  // Communication.
  CommType comm = CommType::kAllReduce;
  GroupKind group = GroupKind::kTensor;
  int peer = -1;  // pipeline rank
  int tag = 0;
};

struct RankGraph {
  int pipeline_rank = 0;
  std::vector<GraphNode> nodes;
};

RankGraph make_graph(const StepWork& work, int pipeline_rank);

}  // namespace nereus::chakra
