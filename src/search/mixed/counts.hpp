// How many teams of each group may take part in data parallelism.
//
//   const TeamCounts counts = team_counts(machines, tp);
//   counts.lists;                          // numbers by group; all of every group comes first
//   counts.every;                          // nothing is left out
//
// In the finest of these steps that gives at most kMostCounts lists:
//   every number of teams; every number of nodes; 1, 2, 3, 4, 6, 8, 12, ... nodes and all;
//   all or none; of the quickest groups all, for every number of groups.
// Within a step what is tried on a cluster is tried with a node more as well, so that the answer is
// no slower; what a coarser step leaves out a search looks for around the best (neighbours()).
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

// The same with a team or a node of one group more or less.
std::vector<std::vector<int>> neighbours(const Machines& machines, int tp,
                                         const std::vector<int>& uses);

// Groups by the samples per second of all their devices, the most first.
std::vector<int> groups_by_rate(Machines& machines);

}  // namespace nereus::mixed
