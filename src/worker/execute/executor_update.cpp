// The end of a step: what the ranks sum (gradients, statistics, loss), and the update.
#include <chrono>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "worker/device/torch_compat.hpp"
#include "worker/execute/executor.hpp"

namespace nereus::worker {

namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

std::vector<StatisticsSum> Executor::sum_statistics() {
  std::vector<StatisticsSum> sums;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    std::vector<NormStatistics*> layers;
    for (const LayerState* state : stages_[i]->states())
      if (state->statistics()) layers.push_back(state->statistics());
    sums.emplace_back(std::move(layers), data_[i].get());
  }
  return sums;
}

void Executor::finish(std::int64_t step, double signal, StepResult& result) {
  const Clock::time_point start = Clock::now();
  std::int64_t start_ns = clock_.now();
  for (const Handle& handle : sent_) handle->wait();
  sent_.clear();
  launched_.clear();
  waits_.pipeline += since(start);
  sum_wide_ties();
  for (auto& state : states_)
    if (state->is_tied_elsewhere()) {
      if (!state->computes()) state->begin_backward();
      state->reduce_start();
    }
  statistics_ = sum_statistics();
  waits_.reduce += buckets_.finish();
  for (auto& state : states_) state->reduce_finish();
  for (StatisticsSum& sum : statistics_) sum.wait();
  if (before_update) before_update();

  const bool clips = job_.training.clip > 0;
  const double norm = clips ? optimizer_.square_of_norm(pieces) : 0;
  at::Tensor sums;
  {
    const Pieces::Turn turn(device_pieces(), Pieces::key(1, Pieces::Kind::kNorm));
    sums = at::zeros({3}, loss_.options());
    sums[0] = loss_;
    sums[2] = signal;
    sums[1] = norm;
    if (!world_) sums = sums.to(at::kCPU);
  }
  arrived_ = true;
  if (world_) {
    world_->all_reduce(sums)->wait_on_host();
    const Pieces::Turn turn(device_pieces(), Pieces::key(2, Pieces::Kind::kNorm));
    sums = sums.to(at::kCPU);
  }
  note(timeline::SliceKind::kReduce, start_ns);
  start_ns = clock_.now();
  result.loss = sums[0].item<double>();
  result.signals = sums[2].item<double>();
  result.gradient_norm = std::sqrt(sums[1].item<double>());
  if (!std::isfinite(result.loss))
    throw_input_error("train.not-finite", "the loss is not a number any more", {},
                      "a lower --rate, a longer --warmup, or --clip 1");
  if (at_rest) at_rest();
  commit(step, result.gradient_norm);
  for (auto& state : states_) state->spread_start();
  note(timeline::SliceKind::kOptimizer, start_ns);
  for (auto& state : states_) {
    waits_.gather += state->gather_wait;
    waits_.reduce += state->reduce_wait;
  }
  add_stream_times();
  result.waits = waits_;
}

// Where the host does not wait, streams do.
void Executor::add_stream_times() {
  const StreamTimes times = comm_->take_stream_times();
  waits_.tensor += times.held_by(Purpose::kTeam);
  waits_.pipeline += times.held_by(Purpose::kMessage);
  waits_.gather += times.held_by(Purpose::kGather);
  waits_.reduce += times.held_by(Purpose::kReduce);
}

void Executor::commit(std::int64_t step, double gradient_norm) {
  NEREUS_CHECK(arrived_, "only what all ranks have summed is taken");
  for (std::size_t i = 0; i < stages_.size(); ++i)
    statistics_[i].apply(num_norm_groups(job_.training, job_.plan.placement, stages_[i]->work()));
  statistics_.clear();
  const double clip = job_.training.clip;
  const std::int64_t start = layer_clock ? layer_clock->now() : 0;
  optimizer_.update(step, clip > 0 && gradient_norm > clip ? clip / gradient_norm : 1, pieces);
  if (layer_clock) layer_clock->end(0, LayerClock::kUpdate, start);
  arrived_ = false;
}

}  // namespace nereus::worker
