// Cephalo's own planning problem (Guo et al., ICS 2025; as its source has it), solved exactly.
//
// For each device i a micro-batch size m, a number n of them, and a share of all training state:
//
//   sum n_i m_i = B, n_i m_i >= 1
//   C(m_i) + reserve <= limit memory_i
//   sum (C(m_i) + reserve) + 16 parameters < limit sum memory_i
//   least  T = max over i of  max(AG_i, F_i) + max(AG_i + RS_i, F_i + K_i)
//   F = n f(m), K = n b(m) + penalty (n - 1)
//
// with limit 0.75, reserve 2 GiB, penalty 10 ms, and AG and RS 1.25 times as long on a device whose
// micro-batch would not fit beside an even share of the state. It leaves out the optimizer,
// embedding and head, the host link, and that ranks meet at every layer: search/mixed has a model
// of ours for that; this one is for comparison.
//
// T is one of the devices' option times, so bisection over them finds it; a probe asks for the
// least memory with which the devices, one after the other, reach each number of samples within T:
// N B^2 / 2 sums. Among plans of that T the one with the least memory is given, the first devices
// taking fewest samples where that is equal.
//
// State shares (Cephalo's own are wrong, see docs/cephalo.md): even, and what does not fit on a
// device spread evenly over those with room. No device is over its limit where there is a plan.
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
  double gather = 0;   // seconds of AG; 0 as on its command line
  double scatter = 0;  // of RS
  double limit = 0.75;
  double reserve = 2147483648.0;  // bytes
  double penalty = 10e-3;         // seconds of one more micro-batch
  double uneven = 1.25;           // of AG and RS
  double state_bytes = 16;        // of a parameter
};

struct CephaloShare {
  int micro_batch = 0;
  int num_micro_batches = 0;
  double state = 0;  // share of the whole
  double seconds = 0;
  double memory = 0;          // bytes, state included
  bool extrapolated = false;  // its micro-batch was never measured
  int samples() const { return micro_batch * num_micro_batches; }
};

struct CephaloAnswer {
  bool feasible = false;
  double layer_seconds = 0;
  std::vector<CephaloShare> devices{};
  std::string why_not{};  // where infeasible: the constraint that binds
};

CephaloAnswer solve(const CephaloProblem& problem);

// The time and memory of a given choice; what solve() minimises.
CephaloShare share_of(const CephaloProblem& problem, std::size_t device, int micro_batch,
                      int num_micro_batches);

}  // namespace nereus::mixed
