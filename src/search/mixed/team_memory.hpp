// Memory of a team, computed by the predictor once per case, independent of other teams.
//
//   TeamMemory memory(machines, candidate);
//   memory.without_state(group, 4, 2) + share * memory.state(group) <= memory.capacity(group);
#pragma once

#include <map>
#include <vector>

#include "search/mixed/flat_plan.hpp"

namespace nereus::mixed {

// Memory of a team from the predictor: without sharded state, and the amount that all sharded state
// would add. For the amount without state, the state is placed on another team.
class TeamMemory {
 public:
  TeamMemory(Machines& machines, const FlatManner& manner) : machines_(machines), manner_(manner) {}

  // If all micro-batches pass through one layer before the next layer starts, the activations that
  // they keep add up.
  double without_state(int group, int m, int n);
  double state(int group) {
    if (manner_.zero == 0) return 0;
    const auto [at, is_new] = state_.try_emplace(group);
    if (is_new) at->second = 2 * (bytes(group, 1, 1, 0.5) - bytes(group, 1, 1, 0));
    return at->second;
  }
  double capacity(int group) {
    without_state(group, 1, 1);
    return capacity_.at(group);
  }

 private:
  double bytes(int group, int m, int n, double share);

  struct Line {
    double first = -1;  // < 0: not computed yet
    double more = 0;
  };

  Machines& machines_;
  const FlatManner& manner_;
  std::vector<std::vector<Line>> by_micro_batch_;  // by group and samples
  std::map<int, double> state_;
  std::map<int, double> capacity_;
};

}  // namespace nereus::mixed
