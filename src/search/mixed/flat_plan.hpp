// Data parallelism over unequal devices: each team has its own samples, micro-batch and share of
// the state (Cephalo's two halves), or none of either.
//
// Given how all teams compute (tensor degree, recompute) and what is divided (ZeRO 0 to 3), samples
// are chosen so that the slowest team is done as soon as can be:
//
//   least T with   sum over teams of capacity(T) >= B,   sum of room left >= state to be divided
//
// (division.hpp says what a team's capacity is). State goes to every team alike, and where that
// does not fit what is over goes evenly to those with room (least largest piece, which is what a
// gather waits for).
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
  double offload = 0;       // share of kept activations that waits in host memory
  int zero = 0;             // 3: weights are gathered once a pass, layer by layer
  std::vector<int> uses{};  // teams of each group that take part, its first ones
  bool operator==(const FlatManner&) const = default;
};

inline Manner manner_of(const FlatManner& flat, int group) {
  return {group, flat.tp, flat.recompute};
}

inline int teams_of(const FlatManner& manner, std::size_t group) { return manner.uses[group]; }

// What one team does.
struct TeamShare {
  int group = 0;
  int samples = 0;
  int micro_batch = 1;
  double state = 0;  // share of what is divided
  auto operator<=>(const TeamShare&) const = default;
};

// Teams in the order of their ranks.
plan::Placement flat_placement(const Machines& machines, const FlatManner& manner,
                               const std::vector<TeamShare>& teams);

// Seconds of the slowest team, without memory: no division of samples is quicker.
double flat_bound(Machines& machines, const FlatManner& manner);
// Seconds of the reduction among all these teams, state even, nothing hidden: what hides it is
// computation, so no step is shorter. Does not depend on recompute. For zero below 3: one that
// stores alone is spared part of what is gathered there.
double sent_bound(Machines& machines, const FlatManner& manner);
// Nothing where memory does not suffice. `room`: share of every device's memory that may be used.
std::optional<plan::Placement> best_flat(Machines& machines, const FlatManner& manner, double room);

// Baselines: as many samples each or by speed, in micro-batches of at most so many; state even.
std::optional<plan::Placement> simple_flat(Machines& machines, const FlatManner& manner,
                                           bool by_speed, int micro_batch);

}  // namespace nereus::mixed
