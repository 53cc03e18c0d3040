// Costs of every layer kind for one team of a placement, with a cache.
//
//   LayerCosts costs(model, wires, options);
//   const TeamCosts team = costs.of(placement, run, replicas, team_index, kind, samples);
//   team.of(layer_kind).cost.forward;
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cost/embedding.hpp"
#include "cost/layer_cost.hpp"
#include "cost/row_table.hpp"
#include "cost/wires.hpp"
#include "model/model.hpp"
#include "plan/placement.hpp"

namespace nereus::cost::general {

struct CostKey {
  int machine = 0;
  int tp = 1;
  int cp = 1;
  int ep = 1;
  int expert_tp = 1;
  bool sequence_parallel = false;
  cluster::Precision precision = cluster::Precision::kBf16;
  double samples = 1;
  plan::ContextKind context = plan::ContextKind::kZigzag;
  int tensor_wire = 0;
  int context_wire = 0;
  int expert_wire = 0;
  int expert_part_wire = 0;
  int tables = -1;  // index of the slices of embedding tables; -1: not needed
  double tier_seconds = 0;
  bool operator==(const CostKey&) const = default;
  std::uint64_t hash() const;
};

// Pointers to rows that stay valid.
struct TeamCosts {
  const KindCost* split = nullptr;
  const KindCost* whole = nullptr;  // of layers whose vocabulary is not split
  const std::vector<bool>* has_vocabulary = nullptr;
  int tensor_wire = 0;

  const KindCost& of(int kind) const {
    const auto k = static_cast<std::size_t>(kind);
    return (whole != nullptr && (*has_vocabulary)[k] ? whole : split)[k];
  }
};

// The memory tiers of the first slice of the run's embedding tables; the device if it has no
// tables.
TableTiers table_tiers(const plan::LayerRun& run);

class LayerCosts {
 public:
  // All arguments must outlive this object.
  LayerCosts(const model::Model& model, Wires& wires, const StackOptions& options,
             const MeasuredLayers* measured);

  TeamCosts of(const plan::Placement& placement, const plan::LayerRun& run,
               const plan::Replicas& replicas, int team, int machine, double samples);
  // Parameters of one slice of a layer kind: of its dense weights cut into `cut`, and of all its
  // experts cut into `cut`.
  double dense_parameters(const plan::Placement& placement, int kind, int cut);
  double expert_parameters(int kind, int cut) const;

  // How the run's ranks share the embedding tables; nullptr if it has none.
  const TableSlices* table_slices(const plan::LayerRun& run);

 private:
  const KindCost* row(const CostKey& key);
  int slices_of(const plan::LayerRun& run);
  const KernelModel& kernels(int machine, cluster::Precision precision);

  const model::Model& model_;
  Wires& wires_;
  const StackOptions& options_;
  const MeasuredLayers* measured_;
  std::vector<bool> has_vocabulary_;
  std::vector<std::optional<KernelModel>> kernels_;
  RowTable<CostKey, KindCost> rows_;
  struct KnownSlices {
    std::vector<int> slice_of;
    std::unique_ptr<TableSlices> slices;
  };
  int table_layer_ = -1;
  std::vector<KnownSlices> slices_;
  std::vector<std::vector<double>>
      dense_parameters_;  // by cut, then by kind; empty: not computed yet
};

}  // namespace nereus::cost::general
