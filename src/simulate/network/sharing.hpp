// Max-min fair shares: how flows divide the links they meet on.
//
// A flow f crosses link l w(f,l) times (w counts how many flows alike share the link where one
// stands for many) and gets rate x(f). Progressive filling: raise all rates together until a link
// is full (sum_f w(f,l) x(f) = capacity), freeze the flows on it, go on with the rest. The result
// is the only allocation in which no flow can get more without taking from one that has no more
// (Bertsekas, Gallager 1987, section 6.5).
//
//   Sharing sharing(capacities);
//   sharing.solve({&route_a, &route_b}, rates);   // in bytes per picosecond, as the capacities
#pragma once

#include <cstdint>
#include <vector>

namespace nereus::simulate {

struct LinkUse {
  int link = 0;
  double weight = 1;
  bool operator==(const LinkUse&) const = default;
};
using Route = std::vector<LinkUse>;  // no link twice, never empty

class Sharing {
 public:
  explicit Sharing(std::vector<double> capacities);
  // One rate for each flow. Deterministic: ties are taken together.
  void solve(const std::vector<const Route*>& flows, std::vector<double>& rates);

 private:
  std::vector<double> capacities_;
  // Scratch, kept between calls: what is left of each link, and the weights still growing on it.
  std::vector<double> left_, weight_;
  std::vector<int> touched_;
};

}  // namespace nereus::simulate
