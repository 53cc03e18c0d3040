// A step that breaks off after so many of its layers' passes (worker/measure/measure_layers.hpp).
#include "base/error.hpp"
#include "worker/execute/executor.hpp"

namespace nereus::worker {

void Executor::run_cut(int passes) {
  NEREUS_CHECK(stages_.size() == 1 && mine_.stages.front().micro_batches.size() == 1,
               "a step is cut where it is one micro-batch of one stage");
  const StageWork& work = mine_.stages.front();
  const MicroBatch& batch = work.micro_batches.front();
  // Read once, as the next step would: nothing may come from the host while a graph is taken.
  const std::pair key(batch.first_sample, batch.num_samples);
  if (graph_batches_.find(key) == graph_batches_.end())
    graph_batches_[key] = read_batch(batch, steps_run_);
  const Stage& stage = *stages_.front();
  stages_.front()->clock = nullptr;
  stages_.front()->pieces = nullptr;
  loss_.zero_();
  for (auto& state : states_) state->begin_step();
  reads_kept_ = true;
  Record record = begin_record(work, work.first_micro_batch, 0);
  reads_kept_ = false;
  for (int i = 0; i < passes; ++i) {
    const bool forward = i < work.num_layers;
    const int place = forward ? i : 2 * work.num_layers - 1 - i;
    LayerState& state = *stage.states()[place];
    state.gather_start();
    if (forward)
      stage.forward_layer(record, place);
    else
      stage.backward_layer(record, place);
    state.release();
  }
}

}  // namespace nereus::worker
