#include "worker/executor.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "base/error.hpp"
#include "worker/torch_compat.hpp"

namespace nereus::worker {

namespace {

using schedule::Pass;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kAhead = 2;  // passes whose inputs are asked for before their turn
constexpr std::int64_t kStepsBeforeGraph = 2;  // libraries choose their kernels in the first

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

at::ScalarType type_of(cluster::Precision precision) {
  switch (precision) {
    case cluster::Precision::kFp64:
      return at::kDouble;
    case cluster::Precision::kFp32:
    case cluster::Precision::kTf32:
      return at::kFloat;
    case cluster::Precision::kBf16:
      return at::kBFloat16;
    default:
      throw_input_error("train.precision", "the worker has no " + std::string(to_string(precision)),
                        {}, "fp64, fp32, tf32 or bf16");
  }
}

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

// The first stage reads inputs, the last one targets.
bool reads_samples(const StageWork& work, const model::Model& model) {
  return work.first_layer == 0 || work.first_layer + work.num_layers == model.num_layers();
}

double targets_of_sample(const model::Model& model) {
  if (!model.transformer) return 1;
  const int seq = model.transformer->seq;
  return model.family == "bert" ? model::masked_positions(seq) : seq;
}

bool is_backward(Pass pass) { return pass == Pass::kBackward || pass == Pass::kInput; }

int most_held(const std::vector<schedule::PipelineOp>& order) {
  int held = 0, most = 0;
  for (const schedule::PipelineOp& op : order) {
    if (op.pass == Pass::kForward) most = std::max(most, ++held);
    if (op.pass == Pass::kBackward) --held;
  }
  return most;
}

}  // namespace

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

Executor::Executor(const job::Job& job, Comm& comm, ReadBatch read)
    : job_(job),
      comm_(&comm),
      read_(std::move(read)),
      mine_(worker::rank_plan(job_.plan.placement, comm.rank())),
      layers_(build_layers(job_.plan.model)),
      groups_(comm),
      norm_groups_(comm),
      optimizer_(job_.training),
      store_(at::Device(job_.machine.device)) {
  build();
}

void Executor::build() {
  const plan::Placement& placement = job_.plan.placement;
  options_.type = type_of(placement.precision);
  options_.sum_type = options_.type == at::kDouble ? at::kDouble : at::kFloat;
  options_.device = at::Device(job_.machine.device);
#ifdef __aarch64__
  // Debian's oneDNN has no vector kernels for arm64 (attention's products take thrice as long as in
  // OpenBLAS), and no bf16 products, which it says only when it is asked for one.
  if (options_.device.is_cpu()) at::globalContext().setUserEnabledMkldnn(false);
#endif
  allow_tf32(placement.precision == cluster::Precision::kTf32);
  options_.seed = job_.training.seed;
  options_.sequence_parallel = placement.sequence_parallel;
  options_.keep_gathered = placement.gather == plan::Gather::kPerStep;
  options_.layered = placement.gather == plan::Gather::kPerPass;
  loss_ = at::zeros({}, at::TensorOptions(options_.device).dtype(at::kDouble));
  loss_scale_ =
      1 / (targets_of_sample(job_.plan.model) * static_cast<double>(placement.global_batch));

  std::vector<int> everyone(static_cast<std::size_t>(comm_->num_ranks()));
  for (std::size_t i = 0; i < everyone.size(); ++i) everyone[i] = static_cast<int>(i);
  world_ = groups_.get(everyone);
  for (const StageWork& work : mine_.stages) build_stage(work);
  for (auto& state : states_) {
    optimizer_.add(*state);
    buckets_.add(*state);
  }
  if (may_pull_ahead()) most_held_ = most_held(mine_.order);
}

void Executor::build_stage(const StageWork& work) {
  const plan::LayerRun& run = job_.plan.placement.runs[static_cast<std::size_t>(work.stage)];
  teams_.push_back(groups_.get(work.team));
  data_.push_back(work.computes() ? groups_.get(data_ranks(run, work.slice)) : nullptr);
  const bool sync =
      job_.plan.model.cnn && job_.training.norm == job::NormScope::kSync && work.computes();
  norm_together_.push_back(sync ? norm_groups_.get(data_ranks(run, work.slice)) : nullptr);
  std::vector<LayerState*> states;
  for (int i = 0; i < work.num_layers; ++i) {
    const Layer& layer = *layers_[static_cast<std::size_t>(work.first_layer + i)];
    LayerState* alias = alias_of(layer, work);
    Tied tied = alias ? Tied{} : tied_of(layer, work);
    states_.push_back(std::make_unique<LayerState>(layer, run, work, comm_->rank(), options_,
                                                   groups_, alias, std::move(tied)));
    states.push_back(states_.back().get());
  }
  stages_.push_back(
      std::make_unique<Stage>(work, job_.plan.model, layers_, std::move(states), &store_));
}

const plan::LayerRun& Executor::run_of(int layer) const {
  for (const plan::LayerRun& run : job_.plan.placement.runs)
    if (layer >= run.first_layer && layer < run.first_layer + run.num_layers) return run;
  NEREUS_CHECK(false, "every layer is in a run");
  return job_.plan.placement.runs.front();
}

// Where the same ranks compute and keep both layers of a tied weight, it is one weight.
LayerState* Executor::alias_of(const Layer& layer, const StageWork& work) {
  const auto as_set = [](const std::vector<int>& ranks) {
    return std::set<int>(ranks.begin(), ranks.end());
  };
  for (const Parameter& parameter : layer.parameters()) {
    if (parameter.tied_to_layer < 0) continue;
    const plan::LayerRun &first = run_of(parameter.tied_to_layer), &second = run_of(layer.index);
    if (as_set(data_ranks(first, work.slice)) != as_set(data_ranks(second, work.slice)) ||
        as_set(keeping_of(first, work.slice).members) !=
            as_set(keeping_of(second, work.slice).members))
      continue;
    for (auto& known : states_)
      if (known->layer().index == parameter.tied_to_layer) return known.get();
  }
  return nullptr;
}

// The pair of ranks that hold the two ends of a tied weight for the same place among data ranks;
// where the two layers are not computed side by side, a sum over all who compute either.
Tied Executor::tied_of(const Layer& layer, const StageWork& work) {
  for (const auto& other : layers_)
    for (const Parameter& parameter : other->parameters()) {
      if (parameter.tied_to_layer < 0) continue;
      if (layer.index != parameter.tied_to_layer && layer.index != other->index) continue;
      const plan::LayerRun &first_run = run_of(parameter.tied_to_layer),
                           &second_run = run_of(other->index);
      const std::vector<int> first = data_ranks(first_run, work.slice);
      const std::vector<int> second = data_ranks(second_run, work.slice);
      const std::set<int> first_set(first.begin(), first.end());
      const bool meet = std::any_of(second.begin(), second.end(),
                                    [&](int rank) { return first_set.count(rank) > 0; });
      const auto members = [&](const plan::LayerRun& run) {
        const std::vector<int> ranks = keeping_of(run, work.slice).members;
        return std::set<int>(ranks.begin(), ranks.end());
      };
      if (first_set == std::set<int>(second.begin(), second.end()) &&
          members(first_run) == members(second_run))
        return {};  // one weight
      Tied tied{parameter.name, nullptr, true};
      if (!work.computes()) return tied;
      if (meet || first.size() != second.size()) {
        add_wide_tie(parameter.name, first, second);
        return tied;
      }
      const std::vector<int>& here = layer.index == other->index ? second : first;
      const auto at = std::find(here.begin(), here.end(), comm_->rank()) - here.begin();
      tied.group =
          groups_.get({first[static_cast<std::size_t>(at)], second[static_cast<std::size_t>(at)]});
      return tied;
    }
  return {};
}

StepResult Executor::run(std::int64_t step, double signal) {
  StepResult result;
  const Clock::time_point start = Clock::now();
  waits_ = {};
  for (auto& state : states_) state->gather_wait = state->reduce_wait = 0;
  if (graph_helps())
    run_graph(step);
  else
    run_passes(step);
  ++steps_run_;
  finish(step, signal, result);
  result.seconds = since(start);
  return result;
}

void Executor::run_passes(std::int64_t step) {
  loss_.zero_();
  for (auto& state : states_) {
    state->begin_step();
    passes_left_[state.get()] = 0;
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

bool Executor::may_pull_ahead() const {
  if (job_.plan.placement.schedule != plan::Schedule::kVaruna || mine_.stages.size() != 1)
    return false;
  for (const auto& state : states_)
    if (state->divides_weights() || state->divides_gradients()) return false;
  return !norm_together_.front();
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
      teams_.front()->all_reduce(votes)->wait();
      if (votes.item<double>() > 0) return;
    } else if (stays) {
      return;
    }
    run_pass(forward, step);
  }
}

bool Executor::is_there(std::size_t index) const {
  const schedule::PipelineOp& op = mine_.order[index];
  const bool backward = is_backward(op.pass);
  const Stage& stage = stage_of(op.stage);
  const MicroBatch& batch = stage.work().micro_batch(op.micro_batch);
  for (const Handle& handle : incoming_.at(index).handles)
    if (!handle->done()) return false;
  for (const Route& route : backward ? batch.to : batch.from)
    for (const int layer : backward ? stage.leaving() : stage.entering())
      if (route.rank == mine_.rank &&
          local_.count(
              tag_of(backward ? op.stage : op.stage - 1, backward, route.first_sample, layer)) == 0)
        return false;
  return true;
}

// A rank alone: no message waits inside. Masks of dropout are made on the host. Statistics of
// BatchNorm, and modules of the user's own, have not been tried in a graph.
bool Executor::graph_helps() const {
  return job_.plan.model.transformer && StepGraph::is_built() && options_.device.is_cuda() &&
         job_.machine.graphs && !slices && store_.host_bytes() == 0 && comm_->num_ranks() == 1 &&
         job_.training.dropout == 0 && steps_run_ >= kStepsBeforeGraph;
}

void Executor::run_graph(std::int64_t step) {
  for (const schedule::PipelineOp& op : mine_.order) {
    const StageWork& work = mine_.stage(op.stage);
    const MicroBatch& batch = work.micro_batch(op.micro_batch);
    if (op.pass != Pass::kForward || !reads_samples(work, job_.plan.model)) continue;
    const Batch read = read_batch(batch, step);
    Batch& kept = graph_batches_[batch.first_sample];
    if (kept.inputs.defined()) {
      kept.inputs.copy_(read.inputs);
      kept.targets.copy_(read.targets);
      if (kept.positions.defined()) kept.positions.copy_(read.positions);
    } else {
      kept = read;
    }
  }
  if (!graph_.is_captured()) {
    reads_kept_ = true;
    graph_.capture([&] { run_passes(step); });
    reads_kept_ = false;
  }
  graph_.replay();
}

Batch Executor::read_batch(const MicroBatch& batch, std::int64_t step) {
  const Clock::time_point start = Clock::now();
  Batch read = read_(step, batch.first_sample, batch.num_samples);
  // Tokens and classes as they are, pictures in the width of computation.
  for (at::Tensor* value : {&read.inputs, &read.targets, &read.positions})
    if (value->defined())
      *value = value->is_floating_point() ? value->to(options_.device, options_.type)
                                          : value->to(options_.device);
  waits_.data += since(start);
  return read;
}

Record Executor::begin_record(const StageWork& work, int number, std::int64_t step) {
  const MicroBatch& batch = work.micro_batch(number);
  Record record;
  record.number = number;
  record.pass = std::make_unique<PassContext>();
  PassContext& pass = *record.pass;
  if (reads_kept_)
    pass.batch = graph_batches_.at(batch.first_sample);
  else if (reads_samples(work, job_.plan.model))
    pass.batch = read_batch(batch, step);
  pass.batch.first_sample = batch.first_sample;
  pass.batch.num_samples = batch.num_samples;
  pass.seed = job_.training.seed;
  pass.step = step;
  pass.dropout = job_.training.dropout;
  pass.loss_scale = loss_scale_;
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
  const std::int64_t start = now_ns();
  switch (op.pass) {
    case Pass::kForward: {
      Record& record = records_[key] = begin_record(work, op.micro_batch, step);
      ++num_held_;
      record.values = std::move(received);
      stage.forward(record);
      if (work.slice == 0 && record.loss.defined()) loss_.add_(record.loss);
      send(record.values, stage.leaving(), batch.to, batch, op.stage, false);
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
      send(record.gradients, stage.entering(), batch.from, batch, op.stage - 1, true);
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
  if (slices) slices->push_back({kind, start, now_ns(), stage, micro_batch});
}

void Executor::layer_done(LayerState& state) {
  state.reduce_micro_batch();
  if (--passes_left_[&state] > 0 || state.is_tied_elsewhere()) return;
  if (!buckets_.take(state)) state.reduce_start();
}

std::int64_t Executor::tag_of(int boundary, bool gradients, std::int64_t first_sample,
                              int layer) const {
  const std::int64_t batch = job_.plan.placement.global_batch;
  return ((boundary * 2 + (gradients ? 1 : 0)) * batch + first_sample) *
             job_.plan.model.num_layers() +
         layer;
}

// Samples go back in reverse where micro-batches do, so that both ends start messages in one order.
std::vector<Route> Executor::in_order(std::vector<Route> routes, bool gradients) const {
  if (gradients && options_.layered) std::reverse(routes.begin(), routes.end());
  return routes;
}

void Executor::ask_ahead(std::size_t index) {
  for (std::size_t i = index; i < std::min(mine_.order.size(), index + 1 + kAhead); ++i) ask(i);
}

void Executor::ask(std::size_t index) {
  const schedule::PipelineOp& op = mine_.order[index];
  const bool backward = is_backward(op.pass);
  if ((op.pass != Pass::kForward && !backward) || ran_[index] || incoming_.count(index) > 0) return;
  Incoming& incoming = incoming_[index];
  const Stage& stage = stage_of(op.stage);
  const StageWork& work = stage.work();
  const MicroBatch& batch = work.micro_batch(op.micro_batch);
  const std::vector<Route>& routes = backward ? batch.to : batch.from;
  const int boundary = backward ? op.stage : op.stage - 1;
  PassContext shape_of;
  shape_of.sequence_parallel = job_.plan.placement.sequence_parallel && work.team.size() > 1;
  for (std::size_t i = 0; i < mine_.stages.size(); ++i)
    if (mine_.stages[i].stage == op.stage) shape_of.tensor = teams_[i].get();
  for (const int layer : backward ? stage.leaving() : stage.entering()) {
    const bool all_local = routes.size() == 1 && routes[0].rank == mine_.rank;
    if (all_local) continue;  // take() finds it
    at::Tensor& value = incoming.values[layer];
    value = at::empty(stage.value_shape(layer, batch.num_samples, shape_of),
                      at::TensorOptions(options_.device).dtype(options_.type));
    for (const Route& route : in_order(routes, backward))
      if (route.rank != mine_.rank)
        incoming.handles.push_back(comm_->receive(
            value.narrow(0, route.first_sample - batch.first_sample, route.num_samples), route.rank,
            tag_of(boundary, backward, route.first_sample, layer)));
  }
}

std::map<int, at::Tensor> Executor::take(std::size_t index) {
  const schedule::PipelineOp& op = mine_.order[index];
  const bool backward = is_backward(op.pass);
  const Stage& stage = stage_of(op.stage);
  const MicroBatch& batch = stage.work().micro_batch(op.micro_batch);
  Incoming incoming = std::move(incoming_.at(index));
  incoming_.erase(index);
  const Clock::time_point start = Clock::now();
  const std::int64_t start_ns = now_ns();
  for (const Handle& handle : incoming.handles) handle->wait();
  waits_.pipeline += since(start);
  if (!incoming.handles.empty())
    note(timeline::SliceKind::kReceive, start_ns, op.stage, op.micro_batch);
  for (const Route& route : backward ? batch.to : batch.from) {
    if (route.rank != mine_.rank) continue;
    for (const int layer : backward ? stage.leaving() : stage.entering()) {
      const std::int64_t tag =
          tag_of(backward ? op.stage : op.stage - 1, backward, route.first_sample, layer);
      at::Tensor own = std::move(local_.at(tag));
      local_.erase(tag);
      at::Tensor& value = incoming.values[layer];
      if (value.defined())
        value.narrow(0, route.first_sample - batch.first_sample, route.num_samples).copy_(own);
      else
        value = std::move(own);
    }
  }
  return std::move(incoming.values);
}

void Executor::send(const std::map<int, at::Tensor>& values, const std::vector<int>& which,
                    const std::vector<Route>& routes, const MicroBatch& batch, int boundary,
                    bool gradients) {
  while (!sent_.empty() && sent_.front()->done()) {
    sent_.front()->wait();
    sent_.pop_front();
  }
  for (const int layer : which)
    for (const Route& route : in_order(routes, gradients)) {
      const at::Tensor& value = values.at(layer);
      const at::Tensor part =
          value.narrow(0, route.first_sample - batch.first_sample, route.num_samples).contiguous();
      const std::int64_t tag = tag_of(boundary, gradients, route.first_sample, layer);
      if (route.rank == mine_.rank)
        local_[tag] = part;
      else
        sent_.push_back(comm_->send(part, route.rank, tag));
    }
}

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
  std::int64_t start_ns = now_ns();
  for (const Handle& handle : sent_) handle->wait();
  sent_.clear();
  waits_.pipeline += since(start);
  sum_wide_ties();
  for (auto& state : states_)
    if (state->is_tied_elsewhere()) {
      if (!state->computes()) state->begin_backward();
      state->reduce_start();
    }
  std::vector<StatisticsSum> statistics = sum_statistics();
  waits_.reduce += buckets_.finish();
  for (auto& state : states_) state->reduce_finish();
  for (std::size_t i = 0; i < stages_.size(); ++i)
    statistics[i].finish(num_norm_groups(job_.training, job_.plan.placement, stages_[i]->work()));
  if (before_update) before_update();

  const bool clips = job_.training.clip > 0;
  at::Tensor sums = at::zeros({3}, loss_.options());
  sums[0] = loss_;
  sums[2] = signal;
  if (clips) sums[1] = optimizer_.square_of_norm();
  if (world_) world_->all_reduce(sums)->wait();
  sums = sums.to(at::kCPU);
  note(timeline::SliceKind::kReduce, start_ns);
  start_ns = now_ns();
  result.loss = sums[0].item<double>();
  result.signals = sums[2].item<double>();
  result.gradient_norm = std::sqrt(sums[1].item<double>());
  if (!std::isfinite(result.loss))
    throw_input_error("train.not-finite", "the loss is not a number any more", {},
                      "a lower --rate, a longer --warmup, or --clip 1");
  const double scale = clips && result.gradient_norm > job_.training.clip
                           ? job_.training.clip / result.gradient_norm
                           : 1;
  optimizer_.update(step, scale);
  for (auto& state : states_) state->spread_start();
  note(timeline::SliceKind::kOptimizer, start_ns);
  for (auto& state : states_) {
    waits_.gather += state->gather_wait;
    waits_.reduce += state->reduce_wait;
  }
  result.waits = waits_;
}

const Stage& Executor::stage_of(int number) const {
  for (const auto& stage : stages_)
    if (stage->work().stage == number) return *stage;
  NEREUS_CHECK(false, "the order names stages of this rank alone");
  return *stages_.front();
}

}  // namespace nereus::worker
