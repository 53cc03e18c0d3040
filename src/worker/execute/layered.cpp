#include "worker/execute/layered.hpp"

#include "worker/execute/executor.hpp"

namespace nereus::worker {

void walk_forward(const Stage& stage, const std::function<void(int place)>& compute) {
  const std::vector<LayerState*>& states = stage.states();
  const int end = stage.work().num_layers - (stage.is_head(stage.work().num_layers - 1) ? 1 : 0);
  for (int place = 0; place < end; ++place) {
    LayerState& state = *states[place];
    state.gather_start_all();
    if (place + 1 < end) states[static_cast<std::size_t>(place) + 1]->gather_start_all();
    state.gathered();
    compute(place);
    state.release();
  }
}

void walk_backward(const Stage& stage, const std::function<void(int place)>& compute) {
  const std::vector<LayerState*>& states = stage.states();
  LayerState* last = nullptr;  // whose reduction is on its way
  for (int place = stage.work().num_layers - 1; place >= 0; --place) {
    LayerState& state = *states[place];
    state.gather_start_all();
    if (place > 0) states[static_cast<std::size_t>(place) - 1]->gather_start_all();
    state.gathered();
    compute(place);
    state.release();
    if (state.is_tied_elsewhere()) continue;
    state.reduce_start();
    // It had this layer's time to travel; its buffer is free for the next.
    if (last) last->reduce_wait_own();
    last = &state;
  }
}

void Executor::run_layered(std::int64_t step) {
  std::size_t first = 0;  // of the stage's passes in the order
  for (const auto& stage : stages_) {
    if (!stage->work().computes()) continue;
    forward_layered(*stage, first, step);
    first += stage->work().micro_batches.size();
  }
  for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
    if (!(*stage)->work().computes()) continue;
    backward_layered(**stage, first);
    first += (*stage)->work().micro_batches.size();
  }
}

void Executor::forward_layered(const Stage& stage, std::size_t first, std::int64_t step) {
  const StageWork& work = stage.work();
  const int count = static_cast<int>(work.micro_batches.size());
  const auto record_of = [&](int m) -> Record& { return records_.at({work.stage, m}); };
  for (int m = 0; m < count; ++m) records_[{work.stage, m}] = begin_record(work, m, step);
  const auto receive = [&](int m) {
    const std::size_t index = first + static_cast<std::size_t>(m);
    ask_ahead(index);
    record_of(m).values = take(index);
  };
  walk_forward(stage, [&](int place) {
    for (int m = 0; m < count; ++m) {
      Record& record = record_of(m);
      if (place == 0) receive(m);
      const std::int64_t start = clock_.now();
      if (m + 1 < count) stage.fetch_values(record_of(m + 1), place);
      stage.forward_layer(record, place);
      stage.put_value(record, place);
      note(timeline::SliceKind::kForward, start, work.stage, m);
      count_kept();
      if (place + 1 < work.num_layers) continue;
      send(record.values, work, work.micro_batch(m), false);
      record.values.clear();
    }
  });
  // A stage with only the last layer: its inputs are all it has so far.
  if (work.num_layers == 1 && stage.is_head(0))
    for (int m = 0; m < count; ++m) receive(m);
}

void Executor::backward_layered(const Stage& stage, std::size_t first) {
  const StageWork& work = stage.work();
  const int count = static_cast<int>(work.micro_batches.size());
  const auto record_of = [&](int m) -> Record& { return records_.at({work.stage, m}); };
  walk_backward(stage, [&](int place) {
    for (int m = count - 1; m >= 0; --m) {
      Record& record = record_of(m);
      if (place + 1 == work.num_layers) {
        const std::size_t index = first + static_cast<std::size_t>(count - 1 - m);
        ask_ahead(index);
        record.gradients = take(index);
      }
      const std::int64_t start = clock_.now();
      stage.fetch_for_backward(record, place);
      if (m > 0) stage.fetch_for_backward(record_of(m - 1), place);
      if (stage.is_head(place)) {
        if (m > 0) stage.fetch_values(record_of(m - 1), place);
        stage.forward_layer(record, place, /*with_graph=*/true);
        if (work.slice == 0) loss_.add_(record.loss);
      }
      stage.backward_layer(record, place);
      stage.put_gradients(record, place);
      note(timeline::SliceKind::kBackward, start, work.stage, m);
      count_kept();
      if (place > 0) continue;
      send(record.gradients, work, work.micro_batch(m), true);
      records_.erase({work.stage, m});
    }
  });
}

void Executor::count_kept() {
  if (!most_kept) return;
  std::map<const void*, std::int64_t> storages;
  const auto add = [&](const at::Tensor& tensor) {
    if (tensor.defined())
      storages[tensor.storage().unsafeGetStorageImpl()] =
          static_cast<std::int64_t>(tensor.storage().nbytes());
  };
  for (const auto& [key, record] : records_) {
    for (const auto& [layer, value] : record.values) add(value);
    for (const auto& [layer, gradient] : record.gradients) add(gradient);
    for (const auto& [layer, item] : record.values_away) add(item->arriving);
    for (const auto& [layer, item] : record.gradients_away) add(item->arriving);
    for (const LayerRecord& layer : record.layers) {
      add(layer.output);
      for (const at::Tensor& input : layer.inputs) add(input);
      for (const HostStore::Item& item : layer.away)
        if (item) add(item->arriving);
    }
  }
  std::int64_t sum = 0;
  for (const auto& [storage, bytes] : storages) sum += bytes;
  *most_kept = std::max(*most_kept, sum);
}

}  // namespace nereus::worker
