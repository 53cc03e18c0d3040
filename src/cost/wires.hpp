// Every kind of machine of a cluster, and what joins any set of its ranks.
//
// Ranks of one kind that are a fixed stride apart lie as group_of (cost/collectives.hpp) says. Any
// other set is looked at rank by rank; it gets in each respect the slowest of its machines, between
// kinds at most what cluster/links.hpp gives the two, and as many ranks a domain as the domain with
// the fewest: that one's cards limit the ring.
//
// Wires are numbered as they are asked for, so that equal ones compare by their number.
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
  const Machine& machine(int kind) const { return machines_[static_cast<std::size_t>(kind)]; }
  const Machine& machine_at(int rank) const { return machine(kind_of(rank)); }
  bool same_node(int rank_a, int rank_b) const;
  bool same_domain(int rank_a, int rank_b) const;

  const Wire& operator[](int id) const { return wires_[static_cast<std::size_t>(id)]; }
  int none();                             // one rank, which needs no wire
  int of(plan::RankRange range);          // any stride but 0
  int of(const std::vector<int>& ranks);  // ascending, none twice
  int of_pair(int kind_a, int kind_b, int rank_a, int rank_b, bool same_domain);

 private:
  int intern(const Wire& wire);
  Fabric slowest(const std::vector<int>& ranks) const;

  const cluster::Cluster& cluster_;
  std::vector<Machine> machines_;
  std::vector<int> first_ranks_;  // of each kind, and the number of ranks at the end
  std::vector<Wire> wires_;
};

}  // namespace nereus::cost
