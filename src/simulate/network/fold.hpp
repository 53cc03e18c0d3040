// Programs as transfers: of every rank, or of one that stands for all (see
// simulate/network/simulate.hpp for when that is allowed).
#pragma once

#include <vector>

#include "simulate/network/network.hpp"
#include "simulate/network/program.hpp"

namespace nereus::simulate {

struct Playable {
  Transfers transfers;
  std::vector<double> capacities;
};

Playable unfolded(const Network& network, const Program& program);
Playable folded(const Network& network, const Program& program);

}  // namespace nereus::simulate
