// Costs of every layer kind for one team of a placement, with a cache.
//
//   LayerCosts costs(model, wires, options);
//   const TeamCosts team = costs.of(placement, run, replicas, team_index, kind, samples);
//   team.of(layer_kind).cost.forward;
#pragma once

#include <vector>

#include "cost/layer_cost.hpp"
#include "cost/row_table.hpp"
#include "cost/wires.hpp"
#include "model/model.hpp"
#include "plan/placement.hpp"
#include "predict/split_costs.hpp"

namespace nereus::cost::general {

struct CostKey {
  SplitKey own;
  int machine = 0;
  int tensor_wire = 0;
  int context_wire = 0;
  int expert_wire = 0;
  int expert_part_wire = 0;
  bool operator==(const CostKey&) const = default;
  std::uint64_t hash() const;
};

// Pointers to rows of costs; they stay valid.
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

  const model::Model& model_;
  Wires& wires_;
  std::vector<bool> has_vocabulary_;
  KernelMemo kernels_;
  RowTable<CostKey, KindCost> rows_;
  SlicesMemo slices_;
  std::vector<std::vector<double>>
      dense_parameters_;  // by cut, then by kind; empty: not computed yet
};

}  // namespace nereus::cost::general
