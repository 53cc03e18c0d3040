// What a collective of NCCL's kind takes across machines, and in a switch that adds up itself:
// simulate/nccl_model.hpp with a second level.
//
// N nodes of r ranks, n = N r; inside a device has `link`, a node has `network`, both one way.
// Pieces are pipelined as in simulate/nccl_model.hpp: W / R seconds of bytes over latencies of A in
// all take floor + (sqrt(W/R) + sqrt(A))^2. With step a inside and step b between nodes
//   ring    W/R = 2 (n-1)/n B / min(e link, f network)           A = 2 ((n - N) a + (N - 1) b)
//   tree    W/R = max(B / (e link), c B / (f network))           A = 2 ((r-1) a + log2(N) b)
//           all-reduce alone; B goes up and down at the same time. c = 1 for two nodes: half of the
//           bytes go to either root and back, so that two nodes may seem faster than their wire
//           (github.com/NVIDIA/nccl issue 307, nccl-tests issue 169). c = 2 for more: an inner node
//           of one tree sends up and to two children, and is a leaf of the other (Sanders 2009).
//   switch  W/R = B / (g link),  A = 2 a       all-reduce of one node whose switch adds (NVLS):
//           each value goes up once and comes down once
// All-reduce takes the quickest that is there, all-gather and reduce-scatter a ring of half the
// bytes and latencies. One node without such a switch is simulate/nccl_model.hpp.
//
// e, floor, a and the tail are fitted to one node of A100 (kNcclA100). g = 0.61: 275 of 450 GB/s,
// as NCCL's maintainers state it for H100 (github.com/NVIDIA/nccl-tests issue 212). f = 0.7 is what
// the cost model takes where nothing is known (stack/parameters.hpp, network_efficiency).
//
//   const NcclSite two{.num_ranks = 16, .per_node = 8, .link = 300e9, .network = 50e9,
//                      .network_step = 15e-6};
//   all_reduce_seconds(NcclNodeNumbers{}, two, 64 * kMiB);
#pragma once

#include "simulate/nccl_model.hpp"
#include "stack/parameters.hpp"

namespace nereus::simulate {

enum class NcclAlgorithm { kAny, kRing, kTree, kSwitch };

// Where the ranks of one collective sit.
struct NcclSite {
  int num_ranks = 2;
  int per_node = 2;         // divides num_ranks
  double link = 0;          // bytes/s one way of a device; may be 0 where per_node is 1
  double network = 0;       // bytes/s one way of a node; may be 0 where there is one
  double network_step = 0;  // seconds
  bool adds = false;        // the node's switch does
  int nodes() const { return num_ranks / per_node; }
};

struct NcclNodeNumbers {
  NcclNumbers inside = kNcclA100;
  double network_efficiency = cost::Parameters{}.network_efficiency;  // f
  double switch_efficiency = 0.61;                                    // g
};

double all_reduce_seconds(const NcclNodeNumbers& numbers, const NcclSite& site, double bytes,
                          NcclAlgorithm algorithm = NcclAlgorithm::kAny);
// Also of a reduce-scatter; bytes of the whole.
double all_gather_seconds(const NcclNodeNumbers& numbers, const NcclSite& site, double bytes);

}  // namespace nereus::simulate
