// Shared by the tables of both predictors: the key of a layer's costs on one rank, kernel models by
// machine and precision, and embedding tables cut into slices. Each is made once.
//
//   SplitKey key{split, Precision::kBf16};
//   const KernelModel& kernels = memo.of(0, machine, key.precision);
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/bits.hpp"
#include "cost/embedding.hpp"
#include "cost/kernel_time.hpp"
#include "cost/machine_rates.hpp"
#include "cost/measured.hpp"
#include "cost/row_table.hpp"
#include "stack/stack.hpp"

namespace nereus::cost {

struct SplitKey {
  LayerSplit split;
  cluster::Precision precision = cluster::Precision::kBf16;
  bool operator==(const SplitKey&) const = default;
  std::uint64_t hash() const {
    const auto pair = [](int a, int b) {
      return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 |
             static_cast<std::uint32_t>(b);
    };
    std::uint64_t hash = mix(0, pair(split.tp, split.cp));
    hash = mix(hash, pair(split.ep, split.expert_tp));
    hash = mix(hash, pair(static_cast<int>(precision), (split.sequence_parallel ? 1 : 0) |
                                                           static_cast<int>(split.context) << 1));
    return mix(hash, bits_as<std::uint64_t>(split.samples));
  }
};

class KernelMemo {
 public:
  // All arguments must outlive this object.
  KernelMemo(int num_machines, const StackOptions& options, const MeasuredLayers* measured);

  const KernelModel& of(int index, const Machine& machine, cluster::Precision precision);

 private:
  const StackOptions& options_;
  const MeasuredLayers* measured_;
  std::vector<std::optional<KernelModel>> kernels_;
};

// The slices of the model's only layer with embedding tables, if it has one.
class SlicesMemo {
 public:
  explicit SlicesMemo(const model::Model& model) : model_(model), layer_(model.table_layer()) {}

  int layer() const { return layer_; }  // -1: none
  // `slice_of` is as in slice_tables(). find() returns nullptr if of() was not called with the same
  // arguments before.
  const TableSlices* of(plan::TableSplit split, int ep, const std::vector<int>& slice_of = {});
  const TableSlices* find(plan::TableSplit split, int ep,
                          const std::vector<int>& slice_of = {}) const;

 private:
  struct Known {
    std::vector<int> slice_of;
    std::unique_ptr<TableSlices> slices;
  };
  const model::Model& model_;
  int layer_;
  std::vector<Known> known_;
};

}  // namespace nereus::cost
