// What a rank builds before its first step: groups, layers and their state, ties between layers.
#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "worker/device/torch_compat.hpp"
#include "worker/execute/executor.hpp"

namespace nereus::worker {

namespace {

using schedule::Pass;

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

double targets_of_sample(const model::Model& model) {
  if (!model.transformer) return 1;
  const int seq = model.transformer->seq;
  return model.family == "bert" ? model::masked_positions(seq) : seq;
}

struct Part {
  int rank;
  std::int64_t first_sample;
  int num_samples;
  auto operator<=>(const Part&) const = default;
};

// The ranks that compute each micro-batch.
std::set<Part> parts_of(const plan::LayerRun& run, int slice) {
  std::set<Part> parts;
  const std::vector<int> ranks = data_ranks(run, slice);
  std::size_t next = 0;
  for (const plan::Replicas& r : run.replicas)
    for (int team = 0; team < r.count; ++team, ++next)
      for (int m = 0; m < r.num_micro_batches; ++m)
        parts.insert({ranks[next], r.first_sample_of(team, m), r.samples_in(m)});
  return parts;
}

// If the same ranks compute the same micro-batches of both layers of a tied weight and keep both,
// it is a single weight. With other micro-batches, the first layer's backward passes may end before
// the second's, and its gradient would be reduced without them.
bool is_one_weight(const plan::LayerRun& first, const plan::LayerRun& second, int slice) {
  const auto members = [&](const plan::LayerRun& run) {
    const std::vector<int> ranks = keeping_of(run, slice).members;
    return std::set<int>(ranks.begin(), ranks.end());
  };
  return members(first) == members(second) && parts_of(first, slice) == parts_of(second, slice);
}

int most_held(const std::vector<schedule::PipelineOp>& order) {
  int held = 0, most = 0;
  for (const schedule::PipelineOp& op : order) {
    if (op.pass == Pass::kForward) most = std::max(most, ++held);
    if (op.pass == Pass::kBackward) --held;
  }
  return most;
}

}  // namespace

void Executor::build() {
  const plan::Placement& placement = job_.plan.placement;
  options_.type = type_of(placement.precision);
  options_.sum_type = options_.type == at::kDouble ? at::kDouble : at::kFloat;
  options_.device = at::Device(job_.machine.device);
  choose_kernels(options_.device);
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
  comm_->connect(lanes());
}

// The values that a stage reads from another rank, and their gradients on the way back: both ends
// of a lane pass them in the order of their samples.
std::vector<Lane> Executor::lanes() const {
  std::vector<Lane> list;
  const auto add = [&](int from, int to, int reader, bool gradients) {
    if (from == to) return;
    list.push_back({from, to, tag_of(reader, gradients, 0, 0),
                    tag_of(reader, gradients, job_.plan.placement.global_batch, 0)});
  };
  for (const StageWork& work : mine_.stages)
    for (const MicroBatch& batch : work.micro_batches) {
      for (const std::vector<Route>& routes : batch.from)
        for (const Route& route : routes) {
          add(route.rank, mine_.rank, work.stage, false);
          add(mine_.rank, route.rank, work.stage, true);
        }
      for (std::size_t i = 0; i < work.to.size(); ++i)
        for (const Route& route : batch.to[i]) {
          add(mine_.rank, route.rank, work.to[i].stage, false);
          add(route.rank, mine_.rank, work.to[i].stage, true);
        }
    }
  return in_build_order(std::move(list));
}

void Executor::build_stage(const StageWork& work) {
  const plan::LayerRun& run = job_.plan.placement.runs[work.stage];
  teams_.push_back(groups_.get(work.team));
  if (teams_.back()) teams_.back()->count_as_team();
  data_.push_back(work.computes() ? groups_.get(data_ranks(run, work.slice)) : nullptr);
  const bool sync =
      job_.plan.model.cnn && job_.training.norm == job::NormScope::kSync && work.computes();
  norm_together_.push_back(sync ? norm_groups_.get(data_ranks(run, work.slice)) : nullptr);
  std::vector<LayerState*> states;
  for (int i = 0; i < work.num_layers; ++i) {
    const Layer& layer = *layers_[work.first_layer + i];
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

LayerState* Executor::alias_of(const Layer& layer, const StageWork& work) {
  for (const Parameter& parameter : layer.parameters()) {
    if (parameter.tied_to_layer < 0 ||
        !is_one_weight(run_of(parameter.tied_to_layer), run_of(layer.index), work.slice))
      continue;
    for (auto& known : states_)
      if (known->layer().index == parameter.tied_to_layer) return known.get();
  }
  return nullptr;
}

// The pair of ranks that hold the two ends of a tied weight for the same position among
// data-parallel ranks. If the two layers are not computed in this way, a sum over all ranks that
// compute either.
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
      if (is_one_weight(first_run, second_run, work.slice)) return {};
      Tied tied{parameter.name, nullptr, true};
      if (!work.computes()) return tied;
      if (meet || first.size() != second.size()) {
        add_wide_tie(parameter.name, first, second);
        return tied;
      }
      const std::vector<int>& here = layer.index == other->index ? second : first;
      const auto at = std::find(here.begin(), here.end(), comm_->rank()) - here.begin();
      tied.group = groups_.get({first[at], second[at]});
      return tied;
    }
  return {};
}

bool Executor::may_pull_ahead() const {
  if (job_.plan.placement.schedule != plan::Schedule::kVaruna || mine_.stages.size() != 1)
    return false;
  for (const auto& state : states_)
    if (state->divides_weights() || state->divides_gradients()) return false;
  return !norm_together_.front();
}

}  // namespace nereus::worker
