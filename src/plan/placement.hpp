// The general form of a plan: for every layer, who computes which samples of it, how the layer is split, and
// who keeps which share of its state in which memory.
//
// Runs of layers that are placed alike share one `LayerRun`. Within a run the work is a list of `Replicas`:
// groups of equally shaped teams; each team of tp x cp ranks computes the whole run for its own samples. State
// is a list of `StateShare`s over the flat buffer of one tensor slice of a layer, as parts of its length:
// [begin, end) in units of `kStateUnits`, so that shares of layers of different sizes can be written once.
//
//   rank of slice (c, t) of team i of a Replicas = first + i * team_stride + c * context_stride + t * tensor_stride
//
// Sizes: a regular plan for 16,384 ranks x 126 layers has pp x interleave runs of one Replicas and three
// StateShares each; written as JSON it stays far under 1 MB.
//
// Invariants (checked by plan/check.hpp, which every planner's answer must pass): every layer is in exactly one
// run, runs in order; the samples of a run's replicas add up to the global batch; every unit of every slice's
// state is held by at least one rank for weights, gradients and optimizer; all ranks exist; no rank appears
// twice in one run's replicas.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "model/model.hpp"
#include "plan/degrees.hpp"

namespace nereus::plan {

// A set of ranks as first, first + stride, ... (`count` of them).
struct RankRange {
  int first = 0;
  int count = 0;
  int stride = 1;
  bool operator==(const RankRange&) const = default;
};
using RankSet = std::vector<RankRange>;

struct Replicas {
  int count = 1;  // teams
  int first = 0;  // rank of slice 0 of team 0
  int team_stride = 1;
  int tp = 1;
  int cp = 1;
  int tensor_stride = 1;
  int context_stride = 1;
  int micro_batch = 1;        // samples in one micro-batch of one team
  int num_micro_batches = 1;  // of one team in one step
  int last_micro_batch = 0;   // samples in the last micro-batch where it differs; 0 = micro_batch
  std::int64_t first_sample = 0;  // of team 0; team i starts at first_sample + i * samples_per_team()

  std::int64_t samples_per_team() const {
    return static_cast<std::int64_t>(micro_batch) * (num_micro_batches - 1) +
           (last_micro_batch > 0 ? last_micro_batch : micro_batch);
  }
  bool operator==(const Replicas&) const = default;
};

enum class StateKind { kWeights, kGradients, kOptimizer };
enum class Tier { kDevice, kHost, kNvme };

inline constexpr std::int64_t kStateUnits = 5040 * 65536LL;  // divisible by 1..10, 12, ... and powers of two

// `ranks` hold [begin, end) of the flat buffer of each tensor slice: every rank all of it (`divided` = false), or
// an equal piece each in order (`divided` = true). Tensor slice t uses the ranks of slice 0 shifted by
// t * slice_stride.
struct StateShare {
  StateKind kind = StateKind::kWeights;
  RankSet ranks;          // of tensor slice 0
  int num_slices = 1;     // tensor slices this share describes
  int slice_stride = 1;
  std::int64_t begin = 0;
  std::int64_t end = kStateUnits;
  bool divided = false;
  Tier tier = Tier::kDevice;
  int peer_copies = 0;  // further copies kept in peers' memory for recovery
  bool experts = false; // describes the expert weights of the layer (their own data group), not the rest
  bool operator==(const StateShare&) const = default;
};

struct LayerRun {
  int first_layer = 0;
  int num_layers = 0;
  int stage = 0;  // position in the pipeline (virtual stages count)
  std::vector<Replicas> replicas;
  std::vector<StateShare> state;
  Recompute recompute = Recompute::kNone;
  int recompute_layers = -1;  // how many of the run's layers recompute; -1 = all
  int ep = 1;
  int expert_tp = 1;
  bool operator==(const LayerRun&) const = default;
};

struct Placement {
  std::vector<LayerRun> runs;
  std::int64_t global_batch = 0;
  cluster::Precision precision = cluster::Precision::kBf16;
  bool sequence_parallel = false;
  Schedule schedule = Schedule::k1f1b;
  ContextKind context = ContextKind::kRing;
  Offload offload;
  bool operator==(const Placement&) const = default;
};

// What is written to a file: it carries its model and its cluster, so that a worker needs nothing else.
struct Plan {
  int schema_version = 1;
  model::Model model;
  cluster::Cluster cluster;
  std::string stack;                 // name of the software description used to predict it
  std::optional<Degrees> degrees;    // where the plan is regular
  Placement placement;               // always complete
  bool operator==(const Plan&) const = default;
};

}  // namespace nereus::plan
