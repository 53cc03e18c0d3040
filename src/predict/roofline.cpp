#include "predict/roofline.hpp"

#include "predict/predictor.hpp"
#include "predict/predictor_tables.hpp"

namespace nereus::cost {

Roofline Predictor::roofline(const plan::Degrees& d) {
  Tables& tables = *tables_;
  const KernelModel& kernels = tables.kernels(d.precision);
  const LayerSplit split{d.tp,
                         d.cp,
                         d.ep,
                         d.expert_tp,
                         d.sequence_parallel,
                         tables.samples_per_micro_batch(d),
                         context_of(d.cp, d.context)};
  const double peak = tables.machine().device.peak_of(d.precision).value;
  const double bandwidth = tables.machine().device.memory_bandwidth.value;
  Roofline out;
  double seconds = 0;
  double bound = 0;
  for (std::size_t i = 0; i < tables.model().kinds.size(); ++i) {
    const double count = tables.layers_of_kind(i);
    for (const model::Operator& op : tables.model().kinds[i].operators) {
      const OperatorCost cost = operator_cost(op, kernels, split);
      const double own = count * (cost.forward + cost.backward);
      out.flops += count * cost.flops;
      out.bytes += count * cost.bytes;
      seconds += own;
      if (cost.bytes * peak > cost.flops * bandwidth) bound += own;
    }
  }
  out.ridge = bandwidth > 0 ? peak / bandwidth : 0;
  out.memory_bound = seconds > 0 ? bound / seconds : 0;
  return out;
}

int Predictor::domain() const { return tables_->machine().fabric.domain; }

}  // namespace nereus::cost
