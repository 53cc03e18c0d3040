// The graph of one pipeline rank: what it computes and sends in a step, and what each node waits
// for. The ranks of a stage share it; which ranks its groups and peers are is filled in when a rank
// is written.
//
//   compute nodes    in the order of the schedule, each after the one before it
//   collectives      of a layer before and after its node, in the chain; keys and values beside it
//   sends            after the last node of a pass, beside what follows
//   receives         after the pass before, and the pass waits for them
//   gradients        reduced beside what follows, after the layer's last backward pass (where the
//                    plan overlaps nothing: one after the other at the end)
//   optimizer        after all of it, then the gathering of updated weights
//
// Nodes are numbered from 1 in an order that respects every dependency, so the graph has no cycle.
// A simulator that starts what is ready in the order of numbers starts the collectives of one group
// in the same order on all its ranks.
//
// Durations are whole microseconds: each node takes the difference of rounded running sums, so that
// a rank's sum is right to half a microsecond.
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
  std::vector<std::uint64_t> after;  // numbers of nodes: index + 1
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
