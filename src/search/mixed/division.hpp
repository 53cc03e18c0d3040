// How many samples each team computes, so that all teams finish within T seconds and the state
// still fits.
//
//   capacity of a team    m n samples with n seconds(m) <= T, and a smaller last micro-batch
//   a division exists     if the capacities reach B and the free memory holds the sharded state
//
// Of several (m, n), where m is the micro-batch size and n the number of micro-batches, those with
// more memory and no more samples are dropped. A table over teams then finds the least memory for
// every number of samples, so that the answer is exact for this T. If teams x samples are too many
// for a table, all teams of a kind get the same (m, n).
//
//   Division division(machines, candidate, room);
//   if (division.exists(0.2)) std::vector<TeamShare> teams = division.within(0.2);
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "search/mixed/team_memory.hpp"

namespace nereus::mixed {

class Division {
 public:
  // `room`: usable share of every device's memory.
  Division(Machines& machines, const FlatManner& manner, double room);

  bool exists(double seconds);
  // One entry per team, with B samples or more in total and without state.
  std::vector<TeamShare> within(double seconds);

  // Seconds of one micro-batch, and of all work of a team.
  double one(int group, int m);
  double time_of(const TeamShare& team);

  double limit(int group) { return room_ * memory_.capacity(group); }
  TeamMemory& memory() { return memory_; }
  const std::vector<int>& group_of() const { return group_of_; }
  int batch() const { return batch_; }
  std::vector<int> computing() const;  // indices of groups that compute

 private:
  // One way in which a team computes some samples.
  struct Way {
    int samples = 0;
    int micro_batch = 1;
    double bytes = 0;
  };
  using WaysOfGroups = std::map<int, std::vector<Way>>;
  using Chosen = std::vector<const Way*>;  // by team

  Way most(int group, int m, double seconds);
  std::vector<Way> ways(int group, double seconds);
  WaysOfGroups ways_at(double seconds);
  Chosen choose(const WaysOfGroups& all);
  Chosen choose_by_kind(const WaysOfGroups& all);
  Chosen trace(const WaysOfGroups& all, const std::vector<std::vector<double>>& least,
               const std::vector<std::vector<std::uint8_t>>& taken);
  double free_of(int group, const Way& way);
  double state_left(const Chosen& chosen);
  double state_bytes();

  Machines& machines_;
  const FlatManner& manner_;
  TeamMemory memory_;
  double room_;
  int batch_ = 0;
  std::vector<int> group_of_;                 // by team
  std::vector<std::vector<double>> seconds_;  // by group and samples; < 0: not computed yet
};

}  // namespace nereus::mixed
