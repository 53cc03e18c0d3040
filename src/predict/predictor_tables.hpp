// The tables that the fast predictor looks up: costs of every layer kind by split, and pipeline
// stages by depth. Tables fill on first use and serve all later plans of the same model, machine
// and stack. A lookup allocates nothing.
//
//   Tables tables(model, cluster, basis, 64);
//   const KindRow* kinds = tables.kinds(degrees, Recompute::kFull);   // one row per model.kinds[i]
//   const StageTable& stages = tables.stages(stage_key(degrees));
#pragma once

#include <memory>
#include <vector>

#include "cost/basis.hpp"
#include "cost/machine_rates.hpp"
#include "cost/pipeline_time.hpp"
#include "cost/row_table.hpp"
#include "cost/stage_time.hpp"
#include "predict/memory.hpp"
#include "predict/plan_passes.hpp"
#include "predict/split_costs.hpp"
#include "predict/stage_classes.hpp"
#include "predict/step_work.hpp"
#include "schedule/clock.hpp"

namespace nereus::cost {

// What decides the times of a kind of layer in a stage.
struct KindKey {
  SplitKey split;
  plan::Recompute recompute = plan::Recompute::kNone;
  bool tensor_overlap = false;
  bool pipelined = false;  // pipeline transfers cross nodes
  bool operator==(const KindKey&) const = default;
  std::uint64_t hash() const;
};

struct KindRow {
  LayerTime time;
  LayerMemory memory;
  double message = 0;  // bytes that this rank passes to the next layer
};

// Seconds of a virtual stage's messages.
struct ChunkSends {
  double forward = 0;
  double back = 0;
};

// A cache of stage times, in slots chosen by the stage's layers: plans that differ only in what
// happens once per step share an entry. It stays empty while there are few kinds of layers.
class StageTimeMemo {
 public:
  // The entry of the stage, or the slot to put it in (then the entry's `stage` is a different one).
  // Null if there is no slot.
  struct Entry {
    const KindRow* kinds = nullptr;
    const StageClass* stage = nullptr;
    bool splits_backward = false;
    StageTime time;
  };
  Entry* at(const KindRow* kinds, const StageClass* stage) {
    if (entries_.empty()) return nullptr;
    const std::uint64_t hash =
        mix(reinterpret_cast<std::uintptr_t>(kinds), reinterpret_cast<std::uintptr_t>(stage));
    return &entries_[hash % entries_.size()];
  }
  void make_room(std::size_t num_rows) {
    if (num_rows >= 8 && entries_.empty()) entries_.resize(512);
  }

 private:
  std::vector<Entry> entries_;
};

class Tables {
 public:
  Tables(const model::Model& model, const cluster::Cluster& cluster, const Basis& basis,
         int num_splits);

  const KindRow* kinds(const plan::Degrees& degrees, plan::Recompute recompute);
  const KindCost* costs(const plan::Degrees& degrees);  // the costs that `kinds` is made of
  const StageTable& stages(const StageKey& key);

  const model::Model& model() const { return model_; }
  const StackOptions& options() const { return options_; }
  const Machine& machine() const { return machine_; }
  double flops_per_sample() const { return flops_per_sample_; }
  double tied_parameters() const { return tied_parameters_; }
  bool has_experts() const { return has_experts_; }
  bool has_tables() const { return slices_.layer() >= 0; }
  // How the plan's ranks share the embedding tables. kinds() or costs() must have been called with
  // these degrees before.
  const TableSlices& table_slices(const plan::Degrees& d) const;
  int layers_of_kind(std::size_t kind) const { return layers_of_kind_[kind]; }
  // Micro-batches per replica and step; pp times as many if the stack's pipeline cuts the local
  // batch itself.
  int num_micro_batches(const plan::Degrees& d) const;
  double samples_per_micro_batch(const plan::Degrees& d) const;
  const KernelModel& kernels(cluster::Precision precision) {
    return kernels_.of(0, machine_, precision);
  }

  // Room for one prediction's stages, large enough for any stage table made so far.
  std::vector<StagePace> paces;
  std::vector<StageTime> times;
  std::vector<LayerTime> layers;         // summed over the stage
  std::vector<double> reduces;           // seconds of the stages' reductions
  std::vector<double> chunk_parameters;  // by class of virtual stages
  std::vector<PassSeconds> chunk_passes;
  std::vector<ChunkSends> chunk_sends;
  std::vector<schedule::StageSeconds> stage_seconds;  // by virtual stage
  PlanPassesKey filled;             // key of the plan that filled the four vectors above
  std::vector<double> bounds_room;  // room for schedule::bound_play
  PlanPassesMemo passes;
  StageTimeMemo stage_times;
  schedule::Clock clock;
  schedule::PipelineClose close;  // of the clock's last simulation

 private:
  SplitKey split_of(const plan::Degrees& d);
  const KindCost* costs(const SplitKey& key);

  const model::Model& model_;
  std::shared_ptr<const MeasuredLayers> measured_;
  StackOptions options_;
  Machine machine_;
  double flops_per_sample_ = 0;
  double tied_parameters_ = 0;
  bool has_experts_ = false;
  SlicesMemo slices_;
  std::vector<int> layers_of_kind_;
  KernelMemo kernels_;
  RowTable<SplitKey, KindCost> costs_;
  RowTable<KindKey, KindRow> kinds_;
  RowTable<StageKey, std::unique_ptr<StageTable>> stages_;
};

}  // namespace nereus::cost
