// The general form of a plan: for every layer, which ranks compute which samples, how the layer is
// split, and which ranks keep which share of its state in which memory.
//
// Consecutive layers that are placed alike share one `LayerRun`. A team is one data-parallel
// replica of the run: tp x cp ranks that compute the whole run for the team's samples. A run's work
// is a list of `Replicas`: groups of teams of equal shape. Its state is a list of `StateShare`s
// over the flat buffers of a layer. Ranks and samples are written as first + i stride, so the size
// of a plan does not grow with the number of ranks:
//
//   rank of slice (c, t) of team i  = first + i team_stride + c context_stride + t tensor_stride
//   samples of its micro-batch m    = first_sample + i team_step() + m micro_batch_step() + [0, n)
//
// Tensor slices are equal. Context slice c of cp holds tokens [c, c + 1) s / cp; zig-zag cuts the
// sequence into 2 cp chunks and gives slice c the chunks c and 2 cp - 1 - c. Embedding, head and
// loss are split by vocabulary over the tensor slices of their team, unless `split_vocabulary` is
// off. They may be in a separate run that places them on other ranks than those of the blocks. A
// tied weight belongs to the flat buffer of its first layer; on ranks that do not hold the first
// layer, it belongs to the buffer of its second.
//
// Size: a regular plan for 16,384 ranks x 126 layers has pp x interleave runs, each with one
// Replicas and three StateShares (six with experts). As JSON it stays far under 1 MB.
//
// Invariants (checked by plan/check.hpp, which every planner's answer must pass): every layer is in
// exactly one run, and runs are in order. The replicas of a run compute every sample of the global
// batch once. At least one rank holds each part of the weights, gradients and optimizer state, and
// no rank holds the same part twice. All ranks exist. No rank appears twice in the replicas of one
// run.
//
//   Placement p = expand(degrees, model);           // plan/expand.hpp
//   p.runs[0].replicas.push_back(slower_devices);   // or change it by hand
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

// The ranks first, first + stride, ... (`count` of them).
struct RankRange {
  int first = 0;
  int count = 0;
  int stride = 1;
  bool operator==(const RankRange&) const = default;
};
using RankSet = std::vector<RankRange>;

// Teams of equal shape and what each of them computes. A rank that only stores state is in no team.
struct Replicas {
  int count = 1;  // number of teams
  int first = 0;  // rank of slice (0, 0) of team 0
  int team_stride = 1;
  int tp = 1;
  int cp = 1;
  int tensor_stride = 1;
  int context_stride = 1;
  int micro_batch = 1;        // samples in one micro-batch of one team
  int num_micro_batches = 1;  // per team and step
  int last_micro_batch = 0;   // samples in the last micro-batch if it is smaller; 0 = micro_batch
  std::int64_t first_sample = 0;        // first sample of micro-batch 0 of team 0
  std::int64_t team_sample_stride = 0;  // 0 = a team's samples follow those of the team before it
  std::int64_t micro_batch_stride = 0;  // in samples; 0 = micro-batches follow one another
  Recompute recompute = Recompute::kNone;
  int recompute_layers = -1;  // how many layers of the run are recomputed, from its first; -1 = all
  double offload_activations = 0;  // share of the kept activations that is offloaded
  Tier offload_tier = Tier::kHost;

  int samples_in(int m) const {  // samples of micro-batch m
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

// A position in a flat buffer is counted in units: kStateUnits units are the whole buffer, so that
// one share can describe layers of any size. There are more units (3.1e15) than any buffer has
// bytes, so every byte range can be written exactly. The number is divisible by 1 .. 16 and by
// powers of two, and is exact as a double.
inline constexpr std::int64_t kStateUnits = 720720LL << 32;

// The layer's weights are cut into `cut` equal slices, each a flat buffer. `cut` is tp; for experts
// it is ep x expert_tp (slice e * expert_tp + t is tensor part t of expert group e); for
// embedding tables it is ep, and the run's table_split decides the slices, whose lengths may then
// differ. A share places the range [begin, end) of the slices first_slice .. first_slice +
// num_slices - 1: slice first_slice is on `ranks`, and each following slice is on ranks that are
// slice_stride higher. [begin, end) is divided into `pieces` equal pieces, and the j-th of the
// ranks holds piece j modulo `pieces`. 1 piece = a whole copy on each rank; as many pieces as ranks
// = sharded (ZeRO); in between = sharded within groups (HSDP).
struct StateShare {
  StateKind kind = StateKind::kWeights;
  bool experts = false;  // the layer's experts or tables, which have a separate data-parallel group
  int cut = 1;
  int first_slice = 0;
  int num_slices = 1;
  int slice_stride = 1;
  RankSet ranks{};
  int pieces = 1;
  std::int64_t begin = 0;  // in units of kStateUnits; begin = end is an empty share
  std::int64_t end = kStateUnits;
  Tier tier = Tier::kDevice;
  bool peer_copy = false;  // a copy for recovery only: training does not read it
  bool operator==(const StateShare&) const = default;
};

int num_ranks(const RankSet& ranks);

// The elements [begin, end) of a flat buffer of `length` elements that piece `piece` of the share
// covers. Consecutive pieces meet exactly, whatever the length.
struct ElementRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const ElementRange&) const = default;
};
ElementRange elements_of_piece(const StateShare& share, int piece, std::int64_t length);
// The smallest unit at or after the start of `element`: as `begin` or `end` of a share it puts a
// boundary exactly there.
std::int64_t unit_of_element(std::int64_t element, std::int64_t length);

struct LayerRun {
  int first_layer = 0;
  int num_layers = 0;
  int stage = 0;  // position in the pipeline (virtual stages count)
  std::vector<Replicas> replicas{};
  std::vector<StateShare> state{};
  int ep = 1;
  int expert_tp = 1;
  // How ep cuts the embedding tables of the run, if it has any. If tables stay whole,
  // `table_slices` has the slice of each table, in the layer's order (empty if ep is 1).
  TableSplit table_split = TableSplit::kTable;
  std::vector<int> table_slices{};
  bool operator==(const LayerRun&) const = default;
};

// How often sharded weights are all-gathered.
enum class Gather {
  kPerMicroBatch,  // for each micro-batch and pass
  kPerPass,        // layer by layer: all micro-batches pass one layer before the next (Cephalo)
  kPerStep,        // once, and kept until the end of the step
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
  StateTypes state_types{};
  bool operator==(const Placement&) const = default;
};

std::string_view to_string(StateKind kind);
std::string_view to_string(Gather gather);
std::optional<StateKind> parse_state_kind(std::string_view text);
std::optional<Gather> parse_gather(std::string_view text);

// The content of a plan file. It includes the model and the cluster, so that a worker needs nothing
// else.
struct Plan {
  int schema_version = 1;
  model::Model model;
  cluster::Cluster cluster;
  std::string stack;               // name of the software stack that was used to predict the plan
  std::optional<Degrees> degrees;  // present if the plan is regular
  Placement placement;             // always complete
  bool operator==(const Plan&) const = default;
};

}  // namespace nereus::plan
