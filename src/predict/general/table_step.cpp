#include "predict/general/table_step.hpp"

#include <algorithm>

namespace nereus::cost::general {

using plan::LayerRun;

TableStep table_step_of(Context& context, int index) {
  const LayerRun& run = context.run(index);
  const TableSlices* slices = context.costs.table_slices(run);
  TableStep step;
  if (slices == nullptr) return step;
  const Wire& copies = context.states[index].experts.weights.division.outer;
  TableUse use;
  use.samples = static_cast<double>(context.placement.global_batch) / copies.group.size;
  use.element = element_bytes(context.placement.precision);
  use.copies = copies;
  use.tiers = table_tiers(run);
  for (int kind = 0; kind < context.wires.num_kinds(); ++kind) {
    const TableStep own = table_step(*slices, use, context.wires.machine(kind));
    step.update = std::max(step.update, own.update);
    step.exchange = std::max(step.exchange, own.exchange);
    step.gradients = own.gradients;  // of no machine
    step.sparse = own.sparse;
    step.dense = own.dense;
  }
  return step;
}

}  // namespace nereus::cost::general
