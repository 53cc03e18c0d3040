// The time of an NCCL collective across nodes, or in a node whose switch reduces in hardware:
// simulate/nccl_model.hpp with a second level.
//
// N nodes have r ranks each, n = N r. A device has the rate `link` inside a node, a node has the
// rate `network`, both one way. Pieces are pipelined as in simulate/nccl_model.hpp: a collective
// whose bytes take W/R seconds on the wire, and whose steps have a total latency A, takes floor +
// (sqrt(W/R) + sqrt(A))^2. With latency a per step inside a node and b per step between nodes, and
// with efficiencies e inside a node, f between nodes and g of the switch,
//   ring    W/R = 2 (n-1)/n B / min(e link, f network)           A = 2 ((n - N) a + (N - 1) b)
//   tree    W/R = max(B / (e link), c B / (f network))           A = 2 ((r-1) a + log2(N) b)
//           all-reduce only; B goes up and down at the same time. c = 1 for two nodes: half of the
//           bytes go to each root and back, so that two nodes may seem faster than their wire
//           (github.com/NVIDIA/nccl issue 307, nccl-tests issue 169). c = 2 for more: an inner node
//           of one tree sends up and to two children, and is a leaf of the other (Sanders 2009).
//   switch  W/R = B / (g link),  A = 2 a       all-reduce in a node whose switch reduces (NVLS):
//           each value goes up once and comes down once
// All-reduce uses the fastest of these that is available. All-gather and reduce-scatter use a ring
// with half the bytes and latencies. One node without such a switch uses simulate/nccl_model.hpp.
//
// e, floor, a and the tail are fitted to one node of A100 (kNcclA100). g = 0.61: 275 of 450 GB/s,
// as NCCL's maintainers state for H100 (github.com/NVIDIA/nccl-tests issue 212). f = 0.7 is the
// default of the cost model (stack/parameters.hpp, network_efficiency).
//
//   const NcclSite two{.num_ranks = 16, .per_node = 8, .link = 300e9, .network = 50e9,
//                      .network_step = 15e-6};
//   all_reduce_seconds(NcclNodeNumbers{}, two, 64 * kMiB);
#pragma once

#include "simulate/nccl_model.hpp"
#include "stack/parameters.hpp"

namespace nereus::simulate {

enum class NcclAlgorithm { kAny, kRing, kTree, kSwitch };

// Where the ranks of one collective are.
struct NcclSite {
  int num_ranks = 2;
  int per_node = 2;         // must divide num_ranks
  double link = 0;          // bytes/s one way, per device; may be 0 if per_node is 1
  double network = 0;       // bytes/s one way, per node; may be 0 if there is one node
  double network_step = 0;  // seconds
  bool adds = false;        // whether the node's switch reduces
  int nodes() const { return num_ranks / per_node; }
};

struct NcclNodeNumbers {
  NcclNumbers inside = kNcclA100;
  double network_efficiency = cost::Parameters{}.network_efficiency;  // f
  double switch_efficiency = 0.61;                                    // g
};

double all_reduce_seconds(const NcclNodeNumbers& numbers, const NcclSite& site, double bytes,
                          NcclAlgorithm algorithm = NcclAlgorithm::kAny);
// Also for a reduce-scatter; `bytes` is the whole buffer.
double all_gather_seconds(const NcclNodeNumbers& numbers, const NcclSite& site, double bytes);

}  // namespace nereus::simulate
