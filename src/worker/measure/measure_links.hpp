// What joins the ranks: messages between every pair, and collectives of growing rings, by size.
//
// A message's time is half of what it and its answer take, one pair at a time and the others still.
// A collective's is that of the rank that takes longest, all of them starting together behind a
// barrier. Rings are the first 2, 4, 8 .. ranks and all of them; with several hosts also the first
// rank of each, which is the network alone.
//
//   Links links(comm, device, quick);
//   machine.links = links.measure_pairs(say);               // every rank calls both; all get the
//   machine.collectives = links.measure_collectives(say);   // whole
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "profile/machine_profile.hpp"
#include "worker/comm/comm.hpp"
#include "worker/measure/measure_kernels.hpp"

namespace nereus::worker {

class Links {
 public:
  Links(Comm& comm, const at::Device& device, bool quick);
  std::vector<profile::RankLink> measure_pairs(const Say& say);
  std::vector<profile::Collective> measure_collectives(const Say& say);
  int num_hosts() const;
  void barrier();                                               // of all ranks
  std::vector<double> mean(const std::vector<double>& values);  // over all ranks

 private:
  struct Ring {
    std::vector<int> ranks;
    int hosts = 1;
    std::shared_ptr<Group> group{};  // of its members alone
  };
  at::Tensor numbers(std::int64_t count) const;  // zeros that ranks can sum
  int hosts_of(const std::vector<int>& ranks) const;
  std::vector<Ring> rings();
  double round_trips(int other, bool first, at::Tensor& message, int count);
  double run(Group& group, const std::string& kind, at::Tensor& flat, int calls);

  Comm* comm_;
  at::Device device_;
  bool quick_;
  std::shared_ptr<Group> world_;  // nullptr: alone
  std::vector<double> hosts_;     // by rank, a number that stands for its host's name
};

}  // namespace nereus::worker
