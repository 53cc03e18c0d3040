// Reads tables of ASTRA-sim runs for simulate/compat: columns as in
// data/collectives/astrasim_collectives.csv and astrasim_training.csv.
//
// Required: topology, npus_per_dim, link_bandwidth_GBps_per_dim, link_latency_ns_per_dim,
// algorithm_per_dim, simulated_ns; for collectives: collective, bytes; for iterations: layers,
// hidden, seq, batch_per_replica, heads, tp, dp, peak_TFLOPS, local_mem_GBps. Topologies are joined
// by "_", ranks by "x", everything else by "|". Optional, with ASTRA-sim's defaults: backend
// (unaware), dataset_splits (4), active_chunks_per_dim (1), endpoint_delay (10 ns), local_mem_GBps
// (1600).
//
// Impossible values (no bandwidth, an unknown algorithm, more entries than dimensions) throw one
// Errors that lists every such cell. If simulated_ns is blank or "none", the run gave no answer; it
// is read as -1.
#pragma once

#include <cstdint>
#include <vector>

#include "simulate/compat/astra_iteration.hpp"
#include "simulate/compat/astra_sim.hpp"
#include "spec/csv.hpp"

namespace nereus::simulate {

struct AstraCollectiveRow {
  int line = 0;
  AstraSystem system;
  std::vector<AstraDimension> dimensions;
  Collective collective = Collective::kAllReduce;
  std::int64_t bytes = 0;
  std::int64_t simulated_ns = -1;
};

struct AstraIterationRow {
  int line = 0;
  AstraSystem system;
  AstraDecoder decoder;
  AstraDimension tensor, data;
  std::int64_t simulated_ns = -1;
};

std::vector<AstraCollectiveRow> read_astra_collectives(const spec::Csv& csv);
std::vector<AstraIterationRow> read_astra_iterations(const spec::Csv& csv);

}  // namespace nereus::simulate
