// ASTRA-sim 2.0's prediction of one collective on one network dimension, in closed form and equal
// to its analytical back ends to the nanosecond. It is for comparison with ASTRA-sim; our model is
// a different one.
//
// With c = bytes / splits (a chunk), m = c / n, B = bandwidth x 2^30 / 10^9 bytes a ns,
// l = hops x latency (Ring 1, FullyConnected 1, Switch 2), k = log2 n, e = endpoint delay,
//   t(x) = floor(l + x / B)               a message
//   r(x) = 3 floor(x / memory bandwidth)  a reduction: one write, two reads
// one chunk takes
//   ring              all-reduce      2(n-1) t(m) + (n-1) r(m) + (2n-1) e
//                     reduce-scatter  (n-1) (t(m) + r(m)) + n e
//                     all-gather      (n-1) t(c) + n e
//                     all-to-all      N t(m) + (N + 1) e,  N = n(n-1)/2
//   direct            all-reduce      2 t(m) + r(m) + 3 e
//                     reduce-scatter  t(m) + r(m) + 2 e
//                     all-gather      t(c) + 2 e
//                     all-to-all      t(m) + 2 e
//   halving-doubling  all-reduce      sum_{i=1..k} 2 t(c/2^i) + sum_{i=2..k} r(c/2^i) + (2k+1) e
//                     reduce-scatter  sum_{i=1..k} t(c/2^i) + sum_{i=2..k} r(c/2^i) + (k+1) e
//                     all-gather      sum_{i=0..k-1} t(2^i c) + (k+1) e
// and chunks follow one another. `bytes` of an all-gather in ASTRA-sim is what each rank
// contributes; for the other collectives it is the whole buffer. A remainder becomes one more whole
// chunk: there are ceil(bytes / c) chunks.
//
// In the congestion-aware back end, a Switch stores and forwards,
//   t(x) = 2 floor(latency + x/B),
// and "direct" also queues its n - 1 messages on the sender's port,
//   t(x) = (n-2) floor(x/B) + 2 floor(latency + x/B).
// In the congestion-unaware back end, chunks that are active at the same time do not share the
// link: the time is the total of all chunks / number of active chunks.
//
// Source: derived by comparison with runs of ASTRA-sim (commit 518bd51), data/collectives. Cases
// without a formula (double binary tree, several dimensions, active chunks with congestion) are
// reported. Cases that ASTRA-sim cannot run (halving-doubling on a number of ranks that is not a
// power of two: it reports success without any work) are rejected.
//
//   const AstraOutcome outcome = astra_time(system, dimension, Collective::kAllReduce, 64 << 20);
//   outcome.why_not.empty() ? outcome.ns : ...
#pragma once

#include <cstdint>
#include <string>

#include "simulate/network/collective.hpp"

namespace nereus::simulate {

enum class AstraTopology { kRing, kFullyConnected, kSwitch };
enum class AstraAlgorithm { kRing, kDirect, kHalvingDoubling, kDoubleBinaryTree };

// One dimension of a network.
struct AstraDimension {
  AstraTopology topology = AstraTopology::kSwitch;
  AstraAlgorithm algorithm = AstraAlgorithm::kRing;
  int num_ranks = 1;
  double bandwidth = 0;  // per link, in 2^30 bytes per second
  double latency = 0;    // per link, ns
};

struct AstraSystem {
  bool aware = false;  // congestion-aware
  int splits = 4;
  int active_chunks = 1;
  int endpoint_delay = 10;  // ns
  double memory = 1600;     // bandwidth in 10^9 bytes per second
};

struct AstraOutcome {
  std::int64_t ns = 0;
  std::string why_not;  // why there is no answer; empty if there is one
};

AstraOutcome astra_time(const AstraSystem& system, const AstraDimension& dimension,
                        Collective collective, std::int64_t bytes);

}  // namespace nereus::simulate
