// `nereus simulate --collective`: simulates one collective on one network event by event, or
// predicts it like ASTRA-sim.
//
//   CollectiveAnswer a = simulate_collective({.collective = "all-reduce", .bytes = "64 MiB",
//                                             .cluster = {"16xdgx-h100"}});
//   a.collective_s;             // of the fastest algorithm; a.tried has the others
//
// Bandwidths are those of nccl-tests (its PERFORMANCE.md), with S = bytes, n ranks, t seconds:
//   algorithm bandwidth  S / t
//   bus bandwidth        S / t x 2(n-1)/n for all-reduce, S / t x (n-1)/n for the others
// where S is the whole buffer: what is reduced, what is gathered in the end, or what one rank sends
// to all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/predict/requests.hpp"
#include "simulate/network/collective_run.hpp"

namespace nereus::app {

struct SimulateCollectiveRequest {
  std::string collective;    // "all-reduce"
  std::string bytes;         // "64 MiB"
  std::string network_file;  // or
  ClusterRequest cluster;
  std::string algorithms;     // "ring", "ring,halving-doubling"; empty: the fastest
  std::optional<int> chunks;  // empty: 1; for ASTRA-sim 4
  bool unfolded = false;
  bool astra_sim = false;
};

// One choice of algorithms, with one per dimension.
struct TriedAlgorithms {
  std::vector<simulate::Algorithm> algorithms;
  double collective_s = 0;
  simulate::SimulatedCollective simulated;  // empty for ASTRA-sim's closed forms
  double seconds = 0;                       // simulation time
  std::string why_not;                      // why it was not tried; else empty
};

struct CollectiveAnswer {
  simulate::Collective collective = simulate::Collective::kAllReduce;
  double bytes = 0;
  int chunks = 1;
  bool astra_sim = false;
  std::vector<simulate::Dimension> dimensions;
  int num_ranks = 0;
  std::vector<TriedAlgorithms> tried;  // the fastest first, then those that were not tried
  double algorithm_bandwidth = 0;
  double bus_bandwidth = 0;

  const TriedAlgorithms& best() const { return tried.front(); }
};

// Throws Errors with all errors of the request.
CollectiveAnswer simulate_collective(const SimulateCollectiveRequest& request);

// Parses "ring" or "ring,tree" as one algorithm per dimension; adds errors.
std::vector<simulate::Algorithm> parse_algorithms(const std::string& text, std::size_t dimensions,
                                                  ErrorList& errors);

}  // namespace nereus::app
