// One collective on one network, played event by event.
//
// The bytes are cut into chunks. On several dimensions an all-reduce is hierarchical:
// reduce-scatter along the first, ..., all-reduce along the last on what is left, all-gather back;
// a reduce-scatter goes first to last, an all-gather last to first, an all-to-all passes everything
// along each dimension in turn. Step i of a chunk follows step i of the chunk before it on every
// rank, so that chunks fill one another's latencies and work on several dimensions at once.
//
// Folding (simulate/network/fold.hpp): where ranks provably do the same at the same time, few of
// them are played for all. Time then does not grow with the ranks but by the steps.
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
  double bytes = 0;  // the whole: reduced, gathered in the end, or sent by one rank to all
  std::vector<Algorithm> algorithms;  // one a dimension
  int chunks = 1;
  Folding folding = Folding::kWhereProvable;
};

// The link that is in use for most of the time.
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
  std::int64_t events = 0;              // processed
  std::int64_t events_represented = 0;  // of all ranks
};

// Throws Errors for what cannot be: no bytes, as many algorithms as there are not dimensions, a
// tree for anything but the all-reduce of the last dimension.
SimulatedCollective simulate(const Network& network, const CollectiveRequest& request);

// The program it plays.
Program program_of(const Network& network, const CollectiveRequest& request);
Fold fold_of(const Network& network, const Program& program, Folding folding);

// How many transfers it would play; more than kMostTransfers throws.
inline constexpr std::int64_t kMostTransfers = 8'000'000;
std::int64_t num_transfers(const Network& network, CollectiveRequest request);

}  // namespace nereus::simulate
