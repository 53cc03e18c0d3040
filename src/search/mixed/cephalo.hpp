// Cephalo's planning problem (Guo et al., ICS 2025; as in its source code), solved exactly.
//
// Chooses for each device i a micro-batch size m, a number n of micro-batches, and a share of the
// training state:
//
//   sum n_i m_i = B, n_i m_i >= 1
//   C(m_i) + reserve <= limit memory_i
//   sum (C(m_i) + reserve) + 16 parameters < limit sum memory_i
//   minimize  T = max over i of  max(AG_i, F_i) + max(AG_i + RS_i, F_i + K_i)
//   F = n f(m), K = n b(m) + penalty (n - 1)
//
// with limit 0.75, reserve 2 GiB and penalty 10 ms. AG and RS are 1.25 times as long on a device
// whose micro-batch would not fit together with an even share of the state. The problem ignores the
// optimizer, the embedding and head, the host link, and the waiting of ranks for each other at
// every layer. search/mixed models these; this file is for comparison.
//
// T equals the time of one option (m, n) of one device, so a bisection over all option times finds
// it. Each probe computes, for the first 1, 2, ... N devices, the least memory with which they
// reach each number of samples within T: N B^2 / 2 sums. Among plans with that T, the one with the
// least memory is returned; if several are equal, the one whose first devices have the fewest
// samples.
//
// State shares (Cephalo's shares are wrong, see docs/cephalo.md): even; what does not fit on a
// device is spread evenly over those with room. No device exceeds its limit if there is a plan.
//
//   const CephaloAnswer a = solve({devices, memory, 64});
//   if (a.feasible) a.devices[0].samples();
#pragma once

#include <string>
#include <vector>

#include "profile/layer_times.hpp"

namespace nereus::mixed {

struct CephaloDevice {
  const profile::LayerTimes* times = nullptr;
  double memory = 0;  // bytes
};

struct CephaloProblem {
  std::vector<CephaloDevice> devices{};
  const profile::ComputeMemory* memory = nullptr;
  int global_batch = 1;
  double gather = 0;   // seconds of AG; 0 as on Cephalo's command line
  double scatter = 0;  // seconds of RS
  double limit = 0.75;
  double reserve = 2147483648.0;  // bytes
  double penalty = 10e-3;         // seconds per additional micro-batch
  double uneven = 1.25;           // factor on AG and RS
  double state_bytes = 16;        // per parameter
};

struct CephaloShare {
  int micro_batch = 0;
  int num_micro_batches = 0;
  double state = 0;  // its share of the whole training state
  double seconds = 0;
  double memory = 0;          // bytes, including state
  bool extrapolated = false;  // its micro-batch was never measured
  int samples() const { return micro_batch * num_micro_batches; }
};

struct CephaloAnswer {
  bool feasible = false;
  double layer_seconds = 0;
  std::vector<CephaloShare> devices{};
  std::string why_not{};  // if infeasible: the constraint that is violated
};

CephaloAnswer solve(const CephaloProblem& problem);

// The time and memory of a given choice, which solve() minimizes.
CephaloShare share_of(const CephaloProblem& problem, std::size_t device, int micro_batch,
                      int num_micro_batches);

}  // namespace nereus::mixed
