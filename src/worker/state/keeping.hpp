// Which ranks keep which part of a run's state, and which ranks therefore take part in its layers'
// collectives. Does not use libtorch.
//
// A plan decides separately which ranks compute and which store (Cephalo, ICS 2025): a rank may do
// both, either, or both in different amounts. The members of a layer's gathers and reductions are
// the union of these ranks. A member stores a range of the flat buffer, which may be empty.
//
//   const Keeping keeping = keeping_of(run, slice);
//   for (const int rank : keeping.members) ...
//
// The shards are those of the optimizer's state. There is one copy of this state (sharded, or whole
// on one rank), or several with the same boundaries (HSDP, or whole on every rank). With several
// copies, the ranks that compute are also those that store. Weights and gradients are either whole
// on every rank that computes, or sharded like the optimizer's state.
#pragma once

#include <string>
#include <vector>

#include "plan/placement.hpp"

namespace nereus::worker {

// A range of a flat buffer, in elements and in the units of the plan (plan::kStateUnits).
struct Shard {
  int rank = 0;
  plan::ElementRange range{};
  plan::ElementRange units{};
  bool operator==(const Shard&) const = default;
};

// The shards of one kind and slice, in the plan's order, without empty shares and peer copies.
std::vector<Shard> shards_of(const plan::LayerRun& run, plan::StateKind kind, int slice,
                             std::int64_t length);
// Divides shards into sets that each cover the whole buffer once, in the order of the buffer;
// adjacent shards on one rank are joined. Empty if that is not possible.
std::vector<std::vector<Shard>> whole_copies(const std::vector<Shard>& shards);

struct Keeping {
  std::vector<int> members{};      // ranks that compute or store, without duplicates
  int num_copies = 1;              // of the optimizer's state
  bool divided_optimizer = false;  // a copy is spread over ranks, or other ranks also compute
  bool divided_gradients = false;
  bool divided_weights = false;
  // Some rank stores and does not compute, or computes and does not store.
  bool apart = false;
  // All ranks that compute have the same number of micro-batches.
  bool same_counts = true;
  // Whether collectives per micro-batch are possible; if not, they run once per pass or step.
  bool meets_each() const { return same_counts && !apart; }
};
Keeping keeping_of(const plan::LayerRun& run, int slice);

// The reasons why a run's state cannot be kept as the plan says; empty if it can.
std::vector<std::string> cannot_keep(const plan::LayerRun& run);

}  // namespace nereus::worker
