#include "worker/execute/host_state.hpp"

namespace nereus::worker {

using checkpoint::TensorKind;

checkpoint::DType dtype_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kDouble:
      return checkpoint::DType::kF64;
    case at::kBFloat16:
      return checkpoint::DType::kBf16;
    case at::kLong:
      return checkpoint::DType::kI64;
    default:
      return checkpoint::DType::kF32;
  }
}

checkpoint::FlatLayer flat_layer(const LayerState& state) {
  checkpoint::FlatLayer flat;
  flat.layer = state.layer().index;
  flat.begin = state.owned().begin;
  flat.end = state.owned().end;
  for (std::size_t i = 0; i < state.parameters().size(); ++i) {
    const Parameter& p = state.parameters()[i];
    flat.tensors.push_back({p.name,
                            p.shape,
                            {state.slice(), state.num_slices(), p.cut.dim, p.cut.groups},
                            state.offset(i)});
  }
  return flat;
}

std::vector<SavedStatistic> statistics_of(const NormStatistics& norm) {
  const at::Tensor running = norm.running.to(at::kCPU).clone();
  return {{norm.of.name + ".running_mean", running[0]},
          {norm.of.name + ".running_var", running[1]},
          {norm.of.name + ".num_batches_tracked", at::scalar_tensor(norm.num_batches, at::kLong)}};
}

std::span<std::byte> bytes_of(const at::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data_ptr()),
          static_cast<std::size_t>(tensor.numel()) * tensor.element_size()};
}

TensorKind first_kind(const job::Training& training) {
  return training.optimizer == job::OptimizerKind::kSgd ? TensorKind::kMomentum
                                                        : TensorKind::kAdamM;
}

void put_statistics(NormStatistics& norm, const std::vector<at::Tensor>& values) {
  norm.running[0].copy_(values[0]);
  norm.running[1].copy_(values[1]);
  norm.num_batches = values[2].item<std::int64_t>();
}

HostState host_state(Executor& executor, const job::Training& training) {
  HostState held;
  const TensorKind weight =
      executor.wide_masters() ? TensorKind::kMasterWeight : TensorKind::kWeight;
  for (Optimizer::Slot& slot : executor.optimizer().slots()) {
    const LayerState& state = *slot.state;
    const checkpoint::FlatLayer flat = flat_layer(state);
    const auto add = [&](TensorKind kind, const at::Tensor& values) {
      const auto host = std::make_shared<at::Tensor>(values.to(at::kCPU).contiguous());
      if (!values.is_cpu()) held.copies.push_back({*host, values});
      add_parts(flat, kind, dtype_of(*host), bytes_of(*host), host, held.parts, true);
    };
    if (state.length() > 0) {
      add(weight, state.own_master());
      add(first_kind(training), slot.first);
      if (slot.second.defined()) add(TensorKind::kAdamV, slot.second);
    }
    if (!state.statistics()) continue;
    HostState::Statistics kept{state.statistics(), {}};
    for (SavedStatistic& statistic : statistics_of(*state.statistics())) {
      const auto value = std::make_shared<at::Tensor>(statistic.value);
      kept.values.push_back(*value);
      held.parts.push_back({statistic.name,
                            TensorKind::kRunningStatistic,
                            dtype_of(*value),
                            value->sizes().vec(),
                            {},
                            0,
                            value->numel(),
                            state.layer().index,
                            bytes_of(*value),
                            value});
    }
    held.statistics.push_back(std::move(kept));
  }
  return held;
}

void HostState::put_back() {
  for (Copy& copy : copies) copy.device.copy_(copy.host);
  for (Statistics& kept : statistics) put_statistics(*kept.norm, kept.values);
}

}  // namespace nereus::worker
