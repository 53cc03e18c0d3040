// How many teams of each group may take part in data parallelism.
//
//   const TeamCounts counts = team_counts(machines, tp);
//   counts.lists;                          // team counts by group; the first list has all teams
//   counts.every;                          // true if no list is left out
//
// Uses the first of these steps, from fine to coarse, that gives at most kMostCounts lists:
//   every number of teams; every number of nodes; 1, 2, 3, 4, 6, 8, 12, ... nodes and all;
//   all or none; all of the fastest groups, for every number of groups.
// Within a step, every list that is tried on a cluster is also tried on a cluster with one more
// node, so that the answer there is not slower. A search looks around the best list for lists that
// a coarser step leaves out (neighbours()).
#pragma once

#include <vector>

#include "search/mixed/machines.hpp"

namespace nereus::mixed {

inline constexpr std::size_t kMostCounts = 512;

struct TeamCounts {
  std::vector<std::vector<int>> lists{};
  bool every = true;
};

TeamCounts team_counts(Machines& machines, int tp);

// The lists with one team or node more or less of one group.
std::vector<std::vector<int>> neighbours(const Machines& machines, int tp,
                                         const std::vector<int>& uses);

// Groups sorted by the samples per second of all their devices, fastest first.
std::vector<int> groups_by_rate(Machines& machines);

}  // namespace nereus::mixed
