// The general form of a plan: for every layer, who computes which samples of it, how the layer is
// split, and who keeps which share of its state in which memory.
//
// Runs of layers that are placed alike share one `LayerRun`. Within a run the work is a list of
// `Replicas`: groups of equally shaped teams; each team of tp x cp ranks computes the whole run for
// its own samples. State is a list of `StateShare`s over the flat buffers of a layer. The numbers
// are strided, so that size does not grow with the number of ranks:
//
//   rank of slice (c, t) of team i  = first + i team_stride + c context_stride + t tensor_stride
//   samples of micro-batch m of it  = first_sample + i team_step() + m micro_batch_step() + [0, n)
//
// Tensor slices are equal. Context slice c of cp holds tokens [c, c + 1) s / cp; zig-zag cuts the
// sequence into 2 cp chunks and gives c the chunks c and 2 cp - 1 - c. Embedding, head and loss are
// split over their team's tensor slices by vocabulary, unless `split_vocabulary` is off; a run of
// their own may spread them over other ranks than the blocks. A tied weight belongs to the flat
// buffer of its first layer, and to that of its second on those ranks that hold no first.
//
// Sizes: a regular plan for 16,384 ranks x 126 layers has pp x interleave runs of one Replicas and
// three StateShares each (six with experts); written as JSON it stays far under 1 MB.
//
// Invariants (checked by plan/check.hpp, which every planner's answer must pass): every layer is in
// exactly one run, runs in order; a run's replicas compute every sample of the global batch once;
// every part of the state is held by at least one rank for weights, gradients and optimizer, and
// not twice by the same rank; all ranks exist; no rank appears twice in one run's replicas.
//
//   Placement p = expand(degrees, model);           // plan/expand.hpp
//   p.runs[0].replicas.push_back(slower_devices);   // or written by hand
//   check(p, model, cluster);                       // plan/check.hpp
#pragma once

#include <cstdint>
#include <optional>
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

// Teams of one shape and what each of them computes. A rank that only stores is in none.
struct Replicas {
  int count = 1;  // teams
  int first = 0;  // rank of slice (0, 0) of team 0
  int team_stride = 1;
  int tp = 1;
  int cp = 1;
  int tensor_stride = 1;
  int context_stride = 1;
  int micro_batch = 1;        // samples in one micro-batch of one team
  int num_micro_batches = 1;  // of one team in one step
  int last_micro_batch = 0;  // samples in the last micro-batch where it is smaller; 0 = micro_batch
  std::int64_t first_sample = 0;        // of micro-batch 0 of team 0
  std::int64_t team_sample_stride = 0;  // 0 = teams' samples follow one another
  std::int64_t micro_batch_stride = 0;  // in samples; 0 = micro-batches follow one another
  Recompute recompute = Recompute::kNone;
  int recompute_layers = -1;       // how many of the run's layers, from its first; -1 = all
  double offload_activations = 0;  // share of the kept activations that waits beyond the device
  Tier offload_tier = Tier::kHost;

  int samples_in(int m) const {  // micro-batch m
    return m == num_micro_batches - 1 && last_micro_batch > 0 ? last_micro_batch : micro_batch;
  }
  std::int64_t samples_per_team() const {
    return static_cast<std::int64_t>(micro_batch) * (num_micro_batches - 1) +
           samples_in(num_micro_batches - 1);
  }
  std::int64_t team_step() const {
    return team_sample_stride != 0 ? team_sample_stride : samples_per_team();
  }
  std::int64_t micro_batch_step() const {
    return micro_batch_stride != 0 ? micro_batch_stride : micro_batch;
  }
  std::int64_t first_sample_of(int team, int m) const {
    return first_sample + team * team_step() + m * micro_batch_step();
  }
  int ranks_per_team() const { return tp * cp; }
  bool operator==(const Replicas&) const = default;
};

enum class StateKind { kWeights, kGradients, kOptimizer };

// State is written in parts of a buffer's length, so that one share serves layers of every size.
// There are more units (3.1e15) than any buffer has bytes, so every byte range can be written
// exactly; the number divides by 1 .. 16 and by powers of two, and is exact as a double.
inline constexpr std::int64_t kStateUnits = 720720LL << 32;

// The layer's weights are cut into `cut` equal slices (tp; for experts ep x expert_tp: slice
// e expert_tp + t is tensor part t of the e-th group of experts; for embedding tables ep, as the
// run's table_split says, so that slices may be of different lengths), each a flat buffer. This
// share says where [begin, end) of slices first_slice .. first_slice + num_slices - 1 lies: slice
// first_slice on `ranks`, each further slice on the same ranks shifted by slice_stride. The j-th of
// the ranks holds piece j modulo `pieces` of the equal pieces of [begin, end): 1 = a whole copy on
// each rank, as many as there are ranks = divided once (ZeRO), in between = divided within groups
// (HSDP).
struct StateShare {
  StateKind kind = StateKind::kWeights;
  bool experts = false;  // the layer's expert weights or tables, which have their own data group
  int cut = 1;
  int first_slice = 0;
  int num_slices = 1;
  int slice_stride = 1;
  RankSet ranks{};
  int pieces = 1;
  std::int64_t begin = 0;  // in units of kStateUnits; begin = end is an empty share
  std::int64_t end = kStateUnits;
  Tier tier = Tier::kDevice;
  bool peer_copy = false;  // kept for recovery alone: training neither reads it nor counts on it
  bool operator==(const StateShare&) const = default;
};

int num_ranks(const RankSet& ranks);

// The elements [first, second) of a flat buffer of `length` elements that piece `piece` of the
// share covers. Consecutive pieces meet exactly, whatever the length.
struct ElementRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const ElementRange&) const = default;
};
ElementRange elements_of_piece(const StateShare& share, int piece, std::int64_t length);
// The least unit whose element is `element`: what to write so that a boundary falls there.
std::int64_t unit_of_element(std::int64_t element, std::int64_t length);

struct LayerRun {
  int first_layer = 0;
  int num_layers = 0;
  int stage = 0;  // position in the pipeline (virtual stages count)
  std::vector<Replicas> replicas{};
  std::vector<StateShare> state{};
  int ep = 1;
  int expert_tp = 1;
  // How ep cuts the embedding tables of the run, if it has any; of whole tables the slice of each,
  // in the layer's order (none where ep is 1).
  TableSplit table_split = TableSplit::kTable;
  std::vector<int> table_slices{};
  bool operator==(const LayerRun&) const = default;
};

// How often weights that are divided among ranks are put together.
enum class Gather {
  kPerMicroBatch,  // for each micro-batch and pass
  kPerPass,        // layer by layer: all micro-batches pass a layer before the next (Cephalo)
  kPerStep,        // once, and kept until the step ends
};

struct Placement {
  std::vector<LayerRun> runs{};
  std::int64_t global_batch = 0;
  cluster::Precision precision = cluster::Precision::kBf16;
  bool sequence_parallel = false;
  bool tensor_overlap = false;
  bool data_overlap = true;
  bool split_vocabulary = true;
  Schedule schedule = Schedule::k1f1b;
  ContextKind context = ContextKind::kZigzag;
  Gather gather = Gather::kPerMicroBatch;
  bool operator==(const Placement&) const = default;
};

std::string_view to_string(StateKind kind);
std::string_view to_string(Gather gather);
std::optional<StateKind> parse_state_kind(std::string_view text);
std::optional<Gather> parse_gather(std::string_view text);

// What is written to a file: it carries its model and its cluster, so that a worker needs nothing
// else.
struct Plan {
  int schema_version = 1;
  model::Model model;
  cluster::Cluster cluster;
  std::string stack;               // name of the software description used to predict it
  std::optional<Degrees> degrees;  // where the plan is regular
  Placement placement;             // always complete
  bool operator==(const Plan&) const = default;
};

}  // namespace nereus::plan
