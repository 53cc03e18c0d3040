// Which ranks keep the state of a run of layers, as far as it decides communication.
//
// The first slice represents all slices. A kind of state is sharded if some rank that computes (or,
// for experts, keeps) the slice holds less than all of it. Ranks with equal pieces form inner
// groups, each of which holds one sharded copy, and outer groups, whose ranks hold the same piece,
// as in cost/data_parallel.hpp. Uneven pieces form one inner group of all ranks that compute or
// keep them, and the largest piece decides. Peer copies do not count.
//
//   std::vector<RunState> states = read_state(placement, wires);
//   reduce_seconds(states[0].dense.reduce.division, parameters, options);
#pragma once

#include <vector>

#include "cost/data_parallel.hpp"
#include "cost/wires.hpp"
#include "plan/placement.hpp"

namespace nereus::cost::general {

struct StateGroup {
  bool divided = false;
  Division division;
  int inner = 0;  // indices of the division's wires
  int outer = 0;

  bool operator==(const StateGroup& other) const {
    return inner == other.inner && outer == other.outer &&
           division.pieces == other.division.pieces && division.largest == other.division.largest;
  }
};

struct SliceState {
  StateGroup weights;
  StateGroup reduce;  // the division by which gradients are reduced and weights gathered
  bool gradients_divided = false;
};

struct RunState {
  SliceState dense;
  SliceState experts;
  bool weights_beyond_device = false;  // some of the weights are offloaded
};

std::vector<RunState> read_state(const plan::Placement& placement, Wires& wires);
// The highest level of sharding anywhere in the plan.
Sharing sharing_of(const std::vector<RunState>& states);

}  // namespace nereus::cost::general
