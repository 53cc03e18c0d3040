// Every kind of machine of a cluster, and the network between any set of its ranks.
//
// Ranks of one kind with a fixed stride are described by group_of (cost/collectives.hpp). Any other
// set is examined rank by rank. Each of its rates and latencies is the worst of its machines;
// between two kinds, a rate is at most what cluster/links.hpp gives for that pair. The ranks
// per NVLink domain are those of the domain with the fewest, because its network cards limit the
// ring.
//
// A wire is the network between the ranks of one set. Equal wires are kept once and have the same
// number; wires are numbered in the order in which they are first requested.
//
//   Wires wires(cluster, basis);
//   const int id = wires.of({.first = 0, .count = 16, .stride = 8});
//   all_reduce_seconds(wires[id].fabric, wires[id].group, bytes);
#pragma once

#include <vector>

#include "cost/machine_rates.hpp"
#include "plan/placement.hpp"

namespace nereus::cost {

class Wires {
 public:
  // `cluster` must outlive this.
  Wires(const cluster::Cluster& cluster, const Basis& basis);

  int num_kinds() const { return static_cast<int>(machines_.size()); }
  int num_ranks() const { return first_ranks_.back(); }
  int kind_of(int rank) const;
  const Machine& machine(int kind) const { return machines_[kind]; }
  const Machine& machine_at(int rank) const { return machine(kind_of(rank)); }
  bool same_node(int rank_a, int rank_b) const;
  bool same_domain(int rank_a, int rank_b) const;

  const Wire& operator[](int id) const { return wires_[id]; }
  int none();                             // one rank, which needs no wire
  int of(plan::RankRange range);          // any stride except 0
  int of(const std::vector<int>& ranks);  // ascending, no duplicates
  int of_pair(int kind_a, int kind_b, int rank_a, int rank_b, bool same_domain);

 private:
  int intern(const Wire& wire);
  Fabric slowest(const std::vector<int>& ranks) const;

  const cluster::Cluster& cluster_;
  std::vector<Machine> machines_;
  std::vector<int> first_ranks_;  // first rank of each kind, then the number of ranks
  std::vector<Wire> wires_;
};

}  // namespace nereus::cost
