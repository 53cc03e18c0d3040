// Who keeps which part of a run's state, and whom that makes meet in its layers' collectives. No
// libtorch here.
//
// Who computes and who stores are decided apart (Cephalo, ICS 2025): a rank may do both, either, or
// both in quite different amounts. A layer's gathers and reductions are those of its members, the
// union of the two; what a member stores is a range of the flat buffer, and may be empty.
//
//   const Keeping keeping = keeping_of(run, slice);
//   for (const int rank : keeping.members) ...
//
// The optimizer's state decides. It lies once (divided, or whole on one rank), or several times
// with the same boundaries (HSDP, or whole on every rank); then those who compute are those who
// store. Weights and gradients are whole on everyone who computes, or divided as the optimizer's
// state.
#pragma once

#include <string>
#include <vector>

#include "plan/placement.hpp"

namespace nereus::worker {

// A range of a flat buffer, in its elements, and as the plan writes it (plan::kStateUnits).
struct Shard {
  int rank = 0;
  plan::ElementRange range{};
  plan::ElementRange units{};
  bool operator==(const Shard&) const = default;
};

// Of one kind and slice, in the plan's order; without empty shares and peer copies.
std::vector<Shard> shards_of(const plan::LayerRun& run, plan::StateKind kind, int slice,
                             std::int64_t length);
// Divided into sets that each hold the whole buffer once, in the order of the buffer; neighbours of
// one rank are joined. Empty where that cannot be done.
std::vector<std::vector<Shard>> whole_copies(const std::vector<Shard>& shards);

struct Keeping {
  std::vector<int> members{};      // who computes or stores, each once
  int num_copies = 1;              // of the optimizer's state
  bool divided_optimizer = false;  // no copy lies on one rank alone, or others compute beside it
  bool divided_gradients = false;
  bool divided_weights = false;
  // Someone stores and does not compute, or computes and does not store.
  bool apart = false;
  // All ranks that compute have the same number of micro-batches.
  bool same_counts = true;
  // Whether collectives of every micro-batch would meet: else once a pass or step.
  bool meets_each() const { return same_counts && !apart; }
};
Keeping keeping_of(const plan::LayerRun& run, int slice);

// What of a run's state cannot be kept as the plan says: reasons, none where it can.
std::vector<std::string> cannot_keep(const plan::LayerRun& run);

}  // namespace nereus::worker
