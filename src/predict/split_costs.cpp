#include "predict/split_costs.hpp"

namespace nereus::cost {

KernelMemo::KernelMemo(int num_machines, const StackOptions& options,
                       const MeasuredLayers* measured)
    : options_(options),
      measured_(measured),
      kernels_(static_cast<std::size_t>(num_machines * cluster::kNumPrecisions)) {}

const KernelModel& KernelMemo::of(int index, const Machine& machine, cluster::Precision precision) {
  auto& slot = kernels_[index * cluster::kNumPrecisions + static_cast<int>(precision)];
  if (!slot) {
    slot.emplace(machine.device, machine.parameters, precision, options_.attention);
    if (measured_) slot->measured = measured_->of(machine.device.short_name, precision);
  }
  return *slot;
}

const TableSlices* SlicesMemo::find(plan::TableSplit split, int ep,
                                    const std::vector<int>& slice_of) const {
  for (const Known& known : known_)
    if (known.slices->split == split && known.slices->num_slices == ep &&
        known.slice_of == slice_of)
      return known.slices.get();
  return nullptr;
}

const TableSlices* SlicesMemo::of(plan::TableSplit split, int ep,
                                  const std::vector<int>& slice_of) {
  if (const TableSlices* known = find(split, ep, slice_of)) return known;
  known_.push_back({slice_of, std::make_unique<TableSlices>(
                                  slice_tables(model_.layer(layer_), split, ep, slice_of))});
  return known_.back().slices.get();
}

}  // namespace nereus::cost
