// Random networks and collectives for property tests.
//
//   const Network network = any_network(64);      // inside a rapidcheck property
//   simulate(network, any_request(network));
#pragma once

#include <rapidcheck.h>

#include <algorithm>

#include "simulate/network/collective_run.hpp"

namespace nereus::simulate::testing {

// A random divisor of n.
inline int any_divisor(int n) {
  std::vector<int> all;
  for (int i = 1; i <= n; ++i)
    if (n % i == 0) all.push_back(i);
  return *rc::gen::elementOf(all);
}

inline Dimension any_dimension(bool first, int most) {
  Dimension d;
  d.kind = static_cast<DimensionKind>(*rc::gen::inRange(0, 6));
  if (first && d.kind == DimensionKind::kRails) d.kind = DimensionKind::kFatTree;
  d.size = *rc::gen::inRange(2, std::max(3, most + 1));
  d.bandwidth = *rc::gen::inRange(1, 400) * 1e9;
  d.latency = *rc::gen::inRange(0, 2000) * 1e-9;
  if (d.kind == DimensionKind::kFatTree || d.kind == DimensionKind::kRails) {
    d.leaf = any_divisor(d.size);
    d.oversubscription = *rc::gen::inRange(2, 10) * 0.5;
  }
  if (d.kind == DimensionKind::kDragonfly) {
    d.leaf = any_divisor(d.size);
    d.group = any_divisor(d.size / d.leaf);
    d.local_bandwidth = *rc::gen::inRange(0, 400) * 1e9;
    d.global_bandwidth = *rc::gen::inRange(0, 400) * 1e9;
  }
  return d;
}

// Has at most `most` ranks (4 or more).
inline Network any_network(int most) {
  std::vector<Dimension> dimensions;
  int ranks = 1;
  const int count = *rc::gen::inRange(1, 4);
  for (int i = 0; i < count && ranks * 2 <= most; ++i) {
    dimensions.push_back(any_dimension(i == 0, std::min(24, most / ranks)));
    ranks *= dimensions.back().size;
  }
  return Network(dimensions);
}

// Uses trees if they are supported.
inline CollectiveRequest any_request(const Network& network) {
  CollectiveRequest r;
  r.collective = static_cast<Collective>(*rc::gen::inRange(0, 4));
  r.bytes = *rc::gen::inRange(1, 1 << 28);
  r.chunks = *rc::gen::inRange(1, 4);
  const std::size_t count = network.dimensions().size();
  for (std::size_t i = 0; i < count; ++i) {
    const bool last = i + 1 == count;
    std::vector<Algorithm> offered;
    for (const Algorithm algorithm : kAlgorithms)
      if (offers(algorithm, last ? r.collective : Collective::kReduceScatter))
        offered.push_back(algorithm);
    r.algorithms.push_back(*rc::gen::elementOf(offered));
  }
  return r;
}

}  // namespace nereus::simulate::testing
