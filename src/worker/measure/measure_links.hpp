// Measures the network between the ranks: messages between every pair, and collectives of growing
// rings, by size.
//
// The time of a message is half of a round trip, with one pair active at a time. The time of a
// collective is the time on the slowest rank, with all ranks starting together after a barrier.
// There is a ring of the first 2, 4, 8 .. ranks, and one of all ranks; with several hosts, there is
// also a ring of the first rank of each host, which measures only the network.
//
//   Links links(comm, device, quick);
//   machine.links = links.measure_pairs(say);               // every rank must call both;
//   machine.collectives = links.measure_collectives(say);   // all ranks get the whole result
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
  void barrier();                                               // over all ranks
  std::vector<double> mean(const std::vector<double>& values);  // over all ranks

 private:
  struct Ring {
    std::vector<int> ranks;
    int hosts = 1;
    std::shared_ptr<Group> group{};  // of its members only
  };
  at::Tensor numbers(std::int64_t count) const;  // zeros that ranks can all-reduce
  int hosts_of(const std::vector<int>& ranks) const;
  std::vector<Ring> rings();
  double round_trips(int other, bool first, at::Tensor& message, int count);
  double run(Group& group, const std::string& kind, at::Tensor& flat, int calls);

  Comm* comm_;
  at::Device device_;
  bool quick_;
  std::shared_ptr<Group> world_;  // nullptr: a single rank
  std::vector<double> hosts_;     // by rank, a number that represents its host's name
};

}  // namespace nereus::worker
