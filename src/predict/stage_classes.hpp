// The pipeline stages of a regular plan as classes of equal stages.
//
// Even rule (Megatron): plan/stages.hpp spreads the blocks over the pp x interleave virtual stages,
// with the embedding on the first and the head on the last. Balanced rule (nanotron): layers are
// cut where the running cost of blocks and head exceeds a stage's share of the total. Pipeline rank
// r runs virtual stages r, r + pp, ...; in ZB-V it runs r and 2 pp - 1 - r; in DualPipe r and pp -
// 1 - r (with half of the micro-batches each), so pairs of ranks are equal and count once.
//
//   StageTable table = make_stage_table(model, {.pp = 8, .interleave = 2}, StageRule::kEven);
//   for (const StageClass& stage : table.classes) ...      // multiplicities sum to pp
#pragma once

#include <cstdint>
#include <vector>

#include "cost/pipeline_time.hpp"
#include "model/model.hpp"
#include "plan/degrees.hpp"

namespace nereus::cost {

enum class StageRule;

// Which ranks run which virtual stages.
enum class StageOrder { kLooped, kV, kDual };
StageOrder stage_order(plan::Schedule schedule);

struct StageKey {
  int pp = 1;
  int interleave = 1;
  StageOrder order = StageOrder::kLooped;
  int recompute_blocks = 0;  // recomputed blocks of each virtual stage, from its first; 0 = all
  bool plain_last = false;   // the last rank recomputes nothing (Varuna)
  bool operator==(const StageKey&) const = default;
  std::uint64_t hash() const;
};
StageKey stage_key(const plan::Degrees& degrees);

struct KindCount {
  int kind = 0;   // index in the model's kinds
  int count = 0;  // number of layers of the kind, at least 1
  int again = 0;  // how many of them are recomputed if the plan recomputes at all
  bool operator==(const KindCount&) const = default;
};

// Pipeline ranks with the same layers.
struct StageClass {
  std::vector<KindCount> layers;
  int multiplicity = 1;
  int first = 0;  // the first of them, which holds the most activations under 1F1B
  int last = 0;
  bool holds_first_layer = false;
  bool holds_last_layer = false;
  SendCount sends;
};

// Forward FLOPs of one sample, and the part of them in blocks that a plan recomputes in full. They
// decide how a rank's launches are divided among its passes (predict/played.hpp).
struct ChunkWork {
  double forward = 0;
  double again = 0;
  void add(const model::LayerKind& layer, bool recomputed);
};

// Virtual stages with the same layers, on ranks of one class.
struct ChunkClass {
  std::vector<KindCount> layers;
  int rank_class = 0;
  int sender = -1;  // kind of the last layer, whose output goes to the next stage; or -1
  int before = -1;  // kind of the last layer of the stage before; or -1
  int multiplicity = 1;
  ChunkWork work;
};

struct StageTable {
  StageKey key;
  std::vector<StageClass> classes;
  std::vector<int> class_of_rank;     // by pipeline rank; in DualPipe by pair of ranks
  std::vector<KindCount> boundaries;  // layers whose output goes to the next virtual stage
  std::vector<ChunkClass> chunks;
  std::vector<ChunkWork> work;      // by class of ranks, summed over its virtual stages
  std::vector<int> chunk_of_stage;  // by virtual stage; empty if no rank order fits
};

// The pipeline rank that runs a virtual stage; in DualPipe the pair of ranks.
int rank_of_stage(const StageKey& key, int stage);

StageTable make_stage_table(const model::Model& model, const StageKey& key, StageRule rule);
// The first layer of each virtual stage, followed by the number of layers.
std::vector<int> stage_starts(const model::Model& model, int num_stages, StageRule rule);

}  // namespace nereus::cost
