// Simulates one collective on one network, event by event.
//
// The bytes are cut into chunks. On several dimensions an all-reduce is hierarchical:
// reduce-scatters along all dimensions but the last, an all-reduce of the remaining part along the
// last, then all-gathers in reverse order. A reduce-scatter goes from the first to the last
// dimension, an all-gather from the last to the first; an all-to-all sends everything along each
// dimension in turn. Step i of a chunk follows step i of the previous chunk on every rank, so that
// chunks overlap with each other's latencies and use several dimensions at once.
//
// Folding (simulate/network/fold.hpp): if ranks provably do the same at the same time, only a few
// of them are simulated. The run time then grows with the steps, not with the ranks.
//
//   simulate(network, {.collective = Collective::kAllReduce, .bytes = 64 << 20,
//                      .algorithms = {Algorithm::kRing}}).seconds;
#pragma once

#include <cstdint>
#include <vector>

#include "simulate/network/algorithms.hpp"
#include "simulate/network/collective.hpp"
#include "simulate/network/fold.hpp"
#include "simulate/network/network.hpp"

namespace nereus::simulate {

enum class Folding { kWhereProvable, kNever };

struct CollectiveRequest {
  Collective collective = Collective::kAllReduce;
  double bytes = 0;  // the whole buffer: reduced, gathered in the end, or sent by one rank to all
  std::vector<Algorithm> algorithms;  // one per dimension
  int chunks = 1;
  Folding folding = Folding::kWhereProvable;
};

// The link that is used for the largest share of the time.
struct FullestLink {
  int dimension = 0;
  LinkClass link = LinkClass::kForward;
  double share = 0;  // of what it could carry until the end
};

struct SimulatedCollective {
  double seconds = 0;
  Picoseconds end = 0;
  bool folded = false;
  int ranks_played = 0;
  FullestLink fullest;
  std::int64_t events = 0;              // events processed
  std::int64_t events_represented = 0;  // events of all ranks
};

// Throws Errors for impossible requests: no bytes, a wrong number of algorithms, a tree for
// anything except the all-reduce of the last dimension.
SimulatedCollective simulate(const Network& network, const CollectiveRequest& request);

// The program that simulate() runs.
Program program_of(const Network& network, const CollectiveRequest& request);
Fold fold_of(const Network& network, const Program& program, Folding folding);

// The number of transfers that simulate() would simulate; it throws for more than kMostTransfers.
inline constexpr std::int64_t kMostTransfers = 8'000'000;
std::int64_t num_transfers(const Network& network, CollectiveRequest request);

}  // namespace nereus::simulate
