// Who keeps the state of a run of layers, as far as it decides communication.
//
// The first slice stands for all. A kind of state is divided where some rank that computes (or, for
// experts, keeps) the slice holds less than all of it. Equal pieces form inner groups of one
// divided copy and outer groups of the same piece, as cost/data_parallel.hpp wants them; uneven
// ones form one inner group of all who compute or keep, and the largest piece decides. Peer copies
// take no part.
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
  int inner = 0;  // numbers of the division's wires
  int outer = 0;

  bool operator==(const StateGroup& other) const {
    return inner == other.inner && outer == other.outer &&
           division.pieces == other.division.pieces && division.largest == other.division.largest;
  }
};

struct SliceState {
  StateGroup weights;
  StateGroup reduce;  // the division in which gradients are reduced and weights come back
  bool gradients_divided = false;
};

struct RunState {
  SliceState dense;
  SliceState experts;
  bool weights_beyond_device = false;  // some of them
};

std::vector<RunState> read_state(const plan::Placement& placement, Wires& wires);
// What is divided at most, anywhere in the plan.
Sharing sharing_of(const std::vector<RunState>& states);

}  // namespace nereus::cost::general
