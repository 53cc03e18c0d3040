// One collective on one network, played event by event.
//
// The bytes are cut into chunks. On several dimensions an all-reduce is hierarchical:
// reduce-scatter along the first, ..., all-reduce along the last on what is left, all-gather back;
// a reduce-scatter goes first to last, an all-gather last to first, an all-to-all passes everything
// along each dimension in turn. Step i of a chunk follows step i of the chunk before it on every
// rank, so that chunks fill one another's latencies and work on several dimensions at once.
//
// Folding: where every exchange is a shift or an exchange of bits, and these moves map the network
// onto itself (rings: shifts; switches and full connections: both), all ranks do the same at the
// same time. Then one rank's transfers on one link of each class are the whole, a link being
// crossed as often as one rank's route crosses its class. Time then does not grow with the ranks
// but by the steps. Trees, fat trees with several leaves, bits on a ring of more than two, and
// ranks beyond a power of two break the symmetry: then every rank is played.
//
//   simulate(network, {.collective = Collective::kAllReduce, .bytes = 64 << 20,
//                      .algorithms = {Algorithm::kRing}}).seconds;
#pragma once

#include <cstdint>
#include <vector>

#include "simulate/collective.hpp"
#include "simulate/network/algorithms.hpp"
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

struct SimulatedCollective {
  double seconds = 0;
  Picoseconds end = 0;
  bool folded = false;
  std::int64_t events = 0;              // processed
  std::int64_t events_represented = 0;  // of all ranks
};

// Throws Errors for what cannot be: no bytes, as many algorithms as there are not dimensions, a
// tree for anything but the all-reduce of the last dimension.
SimulatedCollective simulate(const Network& network, const CollectiveRequest& request);

// The program it plays.
Program program_of(const Network& network, const CollectiveRequest& request);
bool can_fold(const Network& network, const Program& program);

// How many transfers it would play; more than kMostTransfers throws.
inline constexpr std::int64_t kMostTransfers = 20'000'000;
std::int64_t num_transfers(const Network& network, CollectiveRequest request);

}  // namespace nereus::simulate
