#include "app/plan/burst_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/format.hpp"
#include "predict/memory.hpp"

namespace nereus::app {

BurstMemory::BurstMemory(const Inputs& inputs, const cost::Machine& machine,
                         cluster::Precision precision, double headroom)
    : inputs_(inputs),
      machine_(machine),
      kernels_(inputs.cluster.groups.front().node.device, machine.parameters, precision,
               inputs.basis.stack.options.attention),
      limit_(machine.capacity() * (1 - headroom) / machine.parameters.memory_slack -
             machine.parameters.memory_fixed) {}

double BurstMemory::state_bytes(const model::LayerKind& kind) const {
  const cost::StackOptions& widths = inputs_.basis.stack.options;
  return kind.parameters() * (widths.weight_bytes + widths.gradient_bytes + widths.optimizer_bytes +
                              machine_.parameters.buffer_bytes);
}

double BurstMemory::kept_bytes(const model::LayerKind& kind) const {
  cost::KindCost one;
  one.cost = cost::layer_cost(kind, kernels_, {});
  const cost::LayerMemory memory = cost::layer_memory(
      one, false, plan::Recompute::kNone, inputs_.basis.stack.options, machine_.parameters);
  return memory.kept + machine_.parameters.logits_copies * memory.logits;
}

// A rank of the trunk has the state of all layers, whatever their counts, and memory for that many
// samples in addition.
std::string BurstMemory::lift(int batch, int widest, bool powers_of_two) const {
  double state = 0, sample = 0;
  for (int i = 0; i < inputs_.model.num_layers(); ++i) {
    state += state_bytes(inputs_.model.layer(i));
    sample += kept_bytes(inputs_.model.layer(i));
  }
  if (state + sample > limit_)
    return fmt::format(
        "one sample per rank already needs {}, which no number of ranks and no batch can change; "
        "use devices with more memory, or plan without --burst, which can split layers and state",
        format_bytes(Bytes{state + sample}));
  const int samples = static_cast<int>(std::min((limit_ - state) / sample, 1.0 * batch));
  const auto least = static_cast<unsigned>((batch + samples - 1) / samples);
  const auto ranks = static_cast<int>(powers_of_two ? std::bit_ceil(least) : least);
  const int per_node = inputs_.cluster.groups.front().node.num_devices;
  const auto nodes = [&](int n) { return format_count((n + per_node - 1) / per_node); };
  return fmt::format("these would fit: --global-batch {} ({} on each of {}), or {} instead of {}",
                     samples * widest, counted(format_count(samples), "sample"),
                     counted(format_count(widest), "rank"), counted(nodes(ranks), "node"),
                     nodes(inputs_.cluster.num_devices()));
}

}  // namespace nereus::app
