// ASTRA-sim 2.0's prediction of a whole training iteration of a Megatron-style decoder,
// tensor-parallel on the first network dimension and data-parallel on the second. Equal to
// ASTRA-sim's result to the nanosecond.
//
// ASTRA-sim's rules: a rank has at most one compute node and at most one collective in flight (a
// tensor all-reduce waits for a data all-reduce although they use different wires), and starts the
// ready node with the lowest number first. All ranks are equal, so one rank's graph is the whole
// run.
//
// The graph, with T = seq x batch tokens, h hidden, a heads, p = tp; 2 bytes per element, each
// operand moved once; duration = floor(10^9 FLOP / min(peak, memory FLOP / bytes)) ns. GEMMs as (m,
// k, n):
//   qkv (T, h, 3h/p)   proj (T, h/p, h)   fc1 (T, h, 4h/p)   fc2 (T, 4h/p, h)
//   attention: 4 T seq h/p FLOP, 2 (3 T h/p + 2 batch (a/p) seq^2) bytes; backward: twice as many
// The graph is a chain; each node follows the one before. Forward, layer by layer: qkv, attention,
// proj, tensor all-reduce of 2Th bytes, fc1, fc2, tensor all-reduce. Backward, layers in reverse:
// fc2, fc1, proj, attention, qkv; each GEMM first computes its input gradient (m, n, k), then for
// fc1 and qkv runs a tensor all-reduce, then computes its weight gradient (k, m, n). After a
// layer's last node comes a data all-reduce of 24 h^2/p bytes, for which nothing waits. There are
// 19 nodes per layer, numbered in this order.
//
// Source: derived by comparison with runs of ASTRA-sim (commit 518bd51) on generated traces,
// data/collectives/astrasim_training.csv.
#pragma once

#include <cstdint>
#include <string>

#include "simulate/compat/astra_sim.hpp"

namespace nereus::simulate {

struct AstraDecoder {
  int layers = 1;
  std::int64_t hidden = 0;
  std::int64_t seq = 0;
  std::int64_t batch = 1;  // sequences per replica
  std::int64_t heads = 1;
  int tp = 1;
  int dp = 1;
  double peak = 0;  // FLOP per second
};

struct AstraIteration {
  std::int64_t ns = 0;
  std::int64_t compute_ns = 0;  // the rest is exposed communication
  std::int64_t nodes = 0;
  std::string why_not;  // why there is no answer; empty if there is one
};

// A degree of 1 needs no dimension and has no collectives. tp must divide hidden and heads.
AstraIteration astra_iteration(const AstraSystem& system, const AstraDecoder& decoder,
                               const AstraDimension& tensor, const AstraDimension& data);

}  // namespace nereus::simulate
