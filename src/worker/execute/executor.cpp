#include "worker/execute/executor.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "worker/device/torch_compat.hpp"

namespace nereus::worker {

namespace {

using schedule::Pass;
using Clock = std::chrono::steady_clock;

constexpr double kOperationsOfPiece = 5e10;    // some 100 us of an H100
constexpr std::int64_t kStepsBeforeGraph = 2;  // libraries choose their kernels in the first

timeline::SliceKind kind_of(Pass pass) {
  switch (pass) {
    case Pass::kForward:
      return timeline::SliceKind::kForward;
    case Pass::kBackward:
      return timeline::SliceKind::kBackward;
    case Pass::kInput:
      return timeline::SliceKind::kInput;
    case Pass::kWeight:
      return timeline::SliceKind::kWeight;
    case Pass::kRecompute:
      return timeline::SliceKind::kRecompute;
  }
  return timeline::SliceKind::kOther;
}

LayerInputs inputs_of(const std::vector<std::unique_ptr<Layer>>& layers) {
  LayerInputs inputs;
  for (const auto& layer : layers) inputs.push_back(layer->inputs);
  return inputs;
}

// The first stage reads inputs, the last one targets.
bool reads_samples(const StageWork& work, const model::Model& model) {
  return work.first_layer == 0 || work.first_layer + work.num_layers == model.num_layers();
}

}  // namespace

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Executor::Executor(const job::Job& job, Comm& comm, ReadBatch read, bool starts_empty)
    : job_(job),
      comm_(&comm),
      read_(std::move(read)),
      layers_(build_layers(job_.plan.model)),
      mine_(worker::rank_plan(job_.plan.placement, comm.rank(), inputs_of(layers_),
                              job_.machine.comm == "nccl" ? Routing::kThrough : Routing::kDirect)),
      groups_(comm),
      norm_groups_(comm),
      optimizer_(job_.training),
      store_(at::Device(job_.machine.device)),
      clock_(at::Device(job_.machine.device)) {
  options_.starts_empty = starts_empty;
  seen_.clock = &clock_;
  build();
}

StepResult Executor::run(std::int64_t step, double signal) {
  StepResult result;
  const Clock::time_point start = Clock::now();
  waits_ = {};
  arrived_ = false;
  const std::size_t first_slice = slices ? slices->size() : 0;
  clock_.begin(slices != nullptr);
  store_.seen = clock_.has_tickets() ? &seen_ : nullptr;
  for (auto& state : states_) state->gather_wait = state->reduce_wait = 0;
  for (auto& stage : stages_) {
    stage->clock = layer_clock;
    stage->pieces = pieces;
  }
  launches_are_cut_ = device_pieces() != nullptr;
  if (layer_clock) layer_clock->begin_step();
  if (graph_helps()) {
    run_graph(step);
  } else if (steps_run_ == 0 && comm_->waits_on_device()) {
    rehearse(step);
    run_passes(step);
    reads_kept_ = false;
    graph_batches_.clear();
  } else {
    run_passes(step);
  }
  ++steps_run_;
  finish(step, signal, result);
  if (pieces && steps_run_ > kStepsBeforeGraph) pieces->know_all();
  if (clock_.has_tickets()) settle_times(first_slice);
  result.seconds = since(start);
  return result;
}

// The passes of the step without the other ranks, on the samples that the step then uses too. It
// loads kernels, fills caches of libraries and takes memory, for which the driver may wait for all
// that runs on the device: later, that could be a receive that needs what this rank has yet to
// send. CUDA's programming guide ("Lazy Loading", on concurrent execution) names it; without a
// rehearsal pipelines stopped in their first step. The state does not change: a step begins by
// clearing what passes add to.
void Executor::rehearse(std::int64_t step) {
  keep_samples(step);
  reads_kept_ = true;
  comm_->rehearse(true);
  run_passes(step);
  for (const Handle& handle : sent_) handle->wait();
  sent_.clear();
  buckets_.finish();
  for (auto& state : states_) {
    state->reduce_finish();
    state->end_step();
    state->gather_wait = state->reduce_wait = 0;
  }
  DeviceMark(loss_).wait();
  comm_->rehearse(false);
  waits_ = {};
}

void Executor::run_passes(std::int64_t step) {
  {
    const Pieces::Turn turn(pieces, Pieces::key(0, Pieces::Kind::kBegin));
    loss_.zero_();
    for (auto& state : states_) {
      state->begin_step();
      passes_left_[state.get()] = 0;
    }
  }
  for (std::size_t i = 0; i < stages_.size(); ++i)
    for (int layer = 0; layer < mine_.stages[i].num_layers; ++layer)
      for (auto& state : states_)
        if (state->layer().index == mine_.stages[i].first_layer + layer)
          passes_left_[state.get()] = static_cast<int>(mine_.stages[i].micro_batches.size());

  ran_.assign(mine_.order.size(), false);
  num_held_ = 0;
  start_joining();
  if (options_.layered)
    run_layered(step);
  else
    run_in_order(step);
  if (joining_.valid()) joining_.get();
}

void Executor::run_in_order(std::int64_t step) {
  for (std::size_t i = 0; i < mine_.order.size(); ++i) {
    if (ran_[i]) continue;
    if (most_held_ > 0 && mine_.order[i].pass == Pass::kRecompute) pull_ahead(i, step);
    ask_ahead(i);
    run_pass(i, step);
  }
}

// Forward passes whose inputs are there, before a recompute whose gradient is not.
void Executor::pull_ahead(std::size_t recompute, std::int64_t step) {
  const auto place_of = [&](Pass pass, int micro_batch) {
    std::size_t i = recompute;
    while (i < mine_.order.size() &&
           (mine_.order[i].pass != pass || ran_[i] ||
            (micro_batch >= 0 && mine_.order[i].micro_batch != micro_batch)))
      ++i;
    return i;
  };
  const std::size_t gradient = place_of(Pass::kBackward, mine_.order[recompute].micro_batch);
  NEREUS_CHECK(gradient < mine_.order.size(), "a recompute is for a backward pass");
  while (num_held_ < most_held_) {
    const std::size_t forward = place_of(Pass::kForward, -1);
    if (forward == mine_.order.size()) return;
    ask(gradient);
    ask(forward);
    const bool stays = is_there(gradient) || !is_there(forward);
    at::Tensor votes = at::full({1}, stays ? 1.0 : 0.0, loss_.options());
    if (teams_.front()) {
      teams_.front()->all_reduce(votes)->wait_on_host();
      if (votes.item<double>() > 0) return;
    } else if (stays) {
      return;
    }
    run_pass(forward, step);
  }
}

// True for a single rank, since no message waits inside. If the step runs in pieces, it must be
// possible to cut the graph. Dropout masks are computed on the host. Users' exported modules were
// not tested in a graph.
bool Executor::graph_helps() const {
  const model::Model& model = job_.plan.model;
  return (model.transformer || model.cnn) && StepGraph::is_built() && options_.device.is_cuda() &&
         job_.machine.graphs && !(cut_graph_ && !cut_graph_->is_built()) && !slices &&
         !layer_clock && store_.host_bytes() == 0 && comm_->num_ranks() == 1 &&
         job_.training.dropout == 0 && steps_run_ >= kStepsBeforeGraph;
}

void Executor::run_graph(std::int64_t step) {
  keep_samples(step);
  if (!graph_.is_captured()) {
    reads_kept_ = true;
    Pieces* const turns = std::exchange(pieces, nullptr);
    for (auto& stage : stages_) stage->pieces = nullptr;
    graph_.capture([&] { run_passes(step); }, turns ? StepGraph::Kept::kYes : StepGraph::Kept::kNo);
    pieces = turns;
    for (auto& stage : stages_) stage->pieces = turns;
    reads_kept_ = false;
    if (pieces) cut_graph_.emplace(graph_);
  }
  if (!pieces || pieces->is_alone())
    graph_.replay();
  else if (cut_graph_->is_built())
    cut_graph_->replay(*pieces);
  else
    run_passes(step);
}

// Copies the samples to the tensors that the graph reads.
void Executor::keep_samples(std::int64_t step) {
  for (const schedule::PipelineOp& op : mine_.order) {
    const StageWork& work = mine_.stage(op.stage);
    const MicroBatch& batch = work.micro_batch(op.micro_batch);
    if (op.pass != Pass::kForward || !reads_samples(work, job_.plan.model)) continue;
    const Batch read = read_batch(batch, step);
    const Pieces::Turn turn(pieces, Pieces::key(1, Pieces::Kind::kRead));
    Batch& kept = graph_batches_[{batch.first_sample, batch.num_samples}];
    if (kept.inputs.defined()) {
      kept.inputs.copy_(read.inputs);
      kept.targets.copy_(read.targets);
      if (kept.positions.defined()) kept.positions.copy_(read.positions);
    } else {
      kept = read;
    }
  }
}

Batch Executor::read_batch(const MicroBatch& batch, std::int64_t step) {
  const Clock::time_point start = Clock::now();
  Batch read = read_(step, batch.first_sample, batch.num_samples);
  {
    const Pieces::Turn turn(device_pieces(), Pieces::key(0, Pieces::Kind::kRead));
    read = on_device(std::move(read));
  }
  waits_.data += since(start);
  return read;
}

Batch Executor::on_device(Batch read) const {
  // Tokens and classes are copied unchanged. Images are rounded to the width of computation on the
  // device, because rounding on the host takes longer than the longer copy. From pinned memory
  // (samples.cpp) the copy runs on the stream; the allocator keeps that memory until it is done.
  for (at::Tensor* value : {&read.inputs, &read.targets, &read.positions}) {
    if (!value->defined()) continue;
    *value = value->to(options_.device, options_.device.is_cuda() && value->is_pinned());
    if (value->is_floating_point()) *value = value->to(options_.type);
  }
  return read;
}

Record Executor::begin_record(const StageWork& work, int number, std::int64_t step) {
  const MicroBatch& batch = work.micro_batch(number);
  Record record;
  record.number = number;
  record.pass = std::make_unique<PassContext>();
  PassContext& pass = *record.pass;
  if (reads_samples(work, job_.plan.model))
    pass.batch = reads_kept_ ? graph_batches_.at({batch.first_sample, batch.num_samples})
                             : read_batch(batch, step);
  pass.batch.first_sample = batch.first_sample;
  pass.batch.num_samples = batch.num_samples;
  pass.seed = job_.training.seed;
  pass.step = step;
  pass.dropout = job_.training.dropout;
  pass.loss_scale = loss_scale_;
  if (launches_are_cut_) pass.most_operations = kOperationsOfPiece;
  pass.sequence_parallel = job_.plan.placement.sequence_parallel && work.team.size() > 1;
  pass.recompute_attention = work.recompute == plan::Recompute::kSelective;
  pass.tensor_wait = &waits_.tensor;
  for (std::size_t i = 0; i < mine_.stages.size(); ++i)
    if (mine_.stages[i].stage == work.stage) {
      pass.tensor = teams_[i].get();
      pass.norm =
          norm_groups(job_.training, job_.plan.placement, work, number, norm_together_[i].get());
    }
  return record;
}

void Executor::run_pass(std::size_t index, std::int64_t step) {
  const schedule::PipelineOp& op = mine_.order[index];
  const Stage& stage = stage_of(op.stage);
  const StageWork& work = stage.work();
  const MicroBatch& batch = work.micro_batch(op.micro_batch);
  const std::pair<int, int> key{op.stage, op.micro_batch};
  ran_[index] = true;
  std::map<int, at::Tensor> received;
  if (op.pass == Pass::kForward || is_backward(op.pass)) received = take(index);
  const std::int64_t start = clock_.now();
  switch (op.pass) {
    case Pass::kForward: {
      Record& record = records_[key] = begin_record(work, op.micro_batch, step);
      ++num_held_;
      record.values = std::move(received);
      stage.forward(record);
      if (work.slice == 0 && record.loss.defined()) loss_.add_(record.loss);
      send(record.values, work, batch, false);
      record.values.clear();
      break;
    }
    case Pass::kRecompute:
      stage.recompute(records_.at(key));
      break;
    case Pass::kBackward:
    case Pass::kInput: {
      Record& record = records_.at(key);
      record.gradients = std::move(received);
      if (op.pass == Pass::kInput)
        stage.backward_inputs(record);
      else
        stage.backward(record, [&](LayerState& state) { layer_done(state); });
      send(record.gradients, work, batch, true);
      if (op.pass == Pass::kBackward) {
        records_.erase(key);
        --num_held_;
      }
      break;
    }
    case Pass::kWeight:
      stage.backward_weights(records_.at(key), [&](LayerState& state) { layer_done(state); });
      records_.erase(key);
      break;
  }
  note(kind_of(op.pass), start, op.stage, op.micro_batch);
}

void Executor::note(timeline::SliceKind kind, std::int64_t start, int stage, int micro_batch) {
  if (slices) slices->push_back({kind, start, clock_.now(), stage, micro_batch});
}

// Tickets of this step become times. Where a pass stood still for a copy, it is cut in two.
void Executor::settle_times(std::size_t first) {
  clock_.settle();
  const auto settled = [&](std::pair<std::int64_t, std::int64_t> times) {
    return std::pair(clock_.time_of(times.first), clock_.time_of(times.second));
  };
  const std::vector<Done> tickets(slices->begin() + static_cast<std::ptrdiff_t>(first),
                                  slices->end());
  slices->resize(first);
  auto wait = seen_.waits.begin();
  for (Done done : tickets) {
    std::tie(done.start, done.end) = settled({done.start, done.end});
    for (; wait != seen_.waits.end(); ++wait) {
      const auto [start, end] = settled(*wait);
      if (start >= done.end) break;
      if (start < done.start) continue;
      Done before = done;
      before.end = start;
      slices->push_back(before);
      slices->push_back({timeline::SliceKind::kWait, start, end, done.stage, done.micro_batch});
      done.start = end;
    }
    slices->push_back(done);
  }
  for (const auto& copy : seen_.copies) {
    const auto [start, end] = settled(copy);
    slices->push_back({timeline::SliceKind::kCopy, start, end});
  }
  seen_.copies.clear();
  seen_.waits.clear();
}

void Executor::layer_done(LayerState& state) {
  state.reduce_micro_batch();
  if (--passes_left_[&state] > 0 || state.is_tied_elsewhere()) return;
  if (!buckets_.take(state)) state.reduce_start();
}

const Stage& Executor::stage_of(int number) const {
  for (const auto& stage : stages_)
    if (stage->work().stage == number) return *stage;
  NEREUS_CHECK(false, "the order names stages of this rank alone");
  return *stages_.front();
}

}  // namespace nereus::worker
