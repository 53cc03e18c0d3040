// Who computes how many samples so that all are done within T seconds and the state still has room.
//
//   capacity of a team    m n samples with n seconds(m) <= T, and a smaller last micro-batch
//   a division is found   where the capacities reach B and the room left holds the divided state
//
// Of several (m, n) those that take more memory for no more samples are left out; a table over
// teams then finds the least memory for every number of samples, so that the answer is exact for
// this T. Where teams x samples are too many for a table, all teams of a kind do the same.
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
  // `room`: share of every device's memory that may be used.
  Division(Machines& machines, const FlatManner& manner, double room);

  bool exists(double seconds);
  // By team, B samples or more in all, no state yet.
  std::vector<TeamShare> within(double seconds);

  // Seconds of a micro-batch, and of all that a team does.
  double one(int group, int m);
  double time_of(const TeamShare& team);

  double limit(int group) { return room_ * memory_.capacity(group); }
  TeamMemory& memory() { return memory_; }
  const std::vector<int>& group_of() const { return group_of_; }
  int batch() const { return batch_; }
  std::vector<int> computing() const;  // groups

 private:
  // A way of a team to compute some samples.
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
  std::vector<std::vector<double>> seconds_;  // by group and samples; < 0: not known
};

}  // namespace nereus::mixed
