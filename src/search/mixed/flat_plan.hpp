// Data parallelism over unequal devices: each team (a device, or the devices of a
// tensor-parallel group) has a separate number of samples, micro-batch and share of the state (as
// in Cephalo). A team may have only samples, only state, or neither.
//
// Given how all teams compute (tensor degree, recompute) and what is sharded (ZeRO 0 to 3), samples
// are divided so that the slowest team finishes as early as possible:
//
//   least T with   sum over teams of capacity(T) >= B,   sum of free memory >= sharded state
//
// (division.hpp defines a team's capacity). The state is spread evenly over teams. If a share does
// not fit, the excess goes evenly to teams with room. This minimizes the largest piece, for which
// an all-gather waits.
//
//   for (const FlatManner& candidate : candidates)
//     if (auto placement = best_flat(machines, candidate, room)) ...
#pragma once

#include <optional>

#include "search/mixed/machines.hpp"

namespace nereus::mixed {

struct FlatManner {
  int tp = 1;
  plan::Recompute recompute = plan::Recompute::kNone;
  double offload = 0;       // share of kept activations that is offloaded to host memory
  int zero = 0;             // 3: weights are gathered once per pass, layer by layer
  std::vector<int> uses{};  // per group: how many of its first teams take part
  bool operator==(const FlatManner&) const = default;
};

inline Manner manner_of(const FlatManner& flat, int group) {
  return {group, flat.tp, flat.recompute};
}

inline int teams_of(const FlatManner& manner, std::size_t group) { return manner.uses[group]; }

// The work of one team.
struct TeamShare {
  int group = 0;
  int samples = 0;
  int micro_batch = 1;
  double state = 0;  // share of the sharded state
  auto operator<=>(const TeamShare&) const = default;
};

// `teams` is in the order of their ranks.
plan::Placement flat_placement(const Machines& machines, const FlatManner& manner,
                               const std::vector<TeamShare>& teams);

// Seconds of the slowest team, ignoring memory: no division of samples is faster.
double flat_bound(Machines& machines, const FlatManner& manner);
// Seconds of the fully exposed reduction among all these teams, with evenly spread state. A lower
// bound for every step, because only compute can overlap with it. It does not depend on recompute.
// Only for `zero` below 3: a team that only stores state saves a part of what ZeRO-3 gathers.
double sent_bound(Machines& machines, const FlatManner& manner);
// Empty if memory is not sufficient. `room`: usable share of every device's memory.
std::optional<plan::Placement> best_flat(Machines& machines, const FlatManner& manner, double room);

// Baselines: equal samples per team, or samples by speed, with micro-batches of at most
// `micro_batch`; even state.
std::optional<plan::Placement> simple_flat(Machines& machines, const FlatManner& manner,
                                           bool by_speed, int micro_batch);

}  // namespace nereus::mixed
