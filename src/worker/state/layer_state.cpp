#include "worker/state/layer_state.hpp"

#include <algorithm>
#include <chrono>

#include "base/error.hpp"
#include "worker/device/torch_compat.hpp"

namespace nereus::worker {

namespace {

double seconds_of(const Handle& handle) {
  const auto start = std::chrono::steady_clock::now();
  handle->wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Range as_range(const plan::ElementRange& range) { return {range.begin, range.end}; }

// In launches short enough for a device that jobs use in turns.
void clear(const at::Tensor& flat) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  for (std::int64_t begin = 0; begin < flat.numel(); begin += kMost)
    flat.narrow(0, begin, std::min(kMost, flat.numel() - begin)).zero_();
}

at::Tensor part(const at::Tensor& flat, const Range& range) {
  return flat.narrow(0, range.begin, range.size());
}

}  // namespace

std::shared_ptr<Group> GroupCache::get(const std::vector<int>& ranks, int of) {
  if (ranks.size() < 2) return nullptr;
  std::shared_ptr<Group>& group = groups_[{ranks, of}];
  if (!group) group = comm_->group(ranks);
  return group;
}

Traffic GroupCache::traffic() const {
  Traffic sum;
  for (const auto& [key, group] : groups_) {
    sum.gathered += group->traffic().gathered;
    sum.scattered += group->traffic().scattered;
    sum.reduced += group->traffic().reduced;
    sum.num_gathers += group->traffic().num_gathers;
  }
  return sum;
}

LayerState::LayerState(const Layer& layer, const plan::LayerRun& run, const StageWork& work,
                       int rank, const StateOptions& options, GroupCache& groups, LayerState* alias,
                       Tied tied)
    : layer_(&layer),
      parameters_(layer.parameters()),
      alias_(alias),
      slice_(work.slice),
      num_slices_(work.num_slices),
      computes_(work.computes()),
      options_(options),
      tied_(std::move(tied)) {
  lay_out(alias);
  if (options.sequence_parallel && computes_) team_ = groups.get(work.team);
  const Keeping keeping = keeping_of(run, slice_);
  // Members with different numbers of passes may start the operations of two stages in different
  // orders, so each stage has a separate group.
  const int of = !keeping.meets_each() || options.layered ? work.stage : -1;
  if (computes_) data_ = groups.get(data_ranks(run, slice_), of);

  if (length_ == 0) {  // pools and sums
    fill(options);
    return;
  }
  divided_optimizer_ = keeping.divided_optimizer;
  gathers_ = keeping.divided_weights;
  divided_gradients_ = keeping.divided_gradients || !computes_;
  divided_weights_ = keeping.divided_weights || !computes_;
  find_shards(keeping, run, rank, of, groups);
  const std::string backend = groups.comm().name();
  const auto bytes = [](at::ScalarType type) {
    return static_cast<std::int64_t>(c10::elementSize(type));
  };
  weights_form_ = choose_form(backend, ranges_, bytes(options.type));
  gradients_form_ = choose_form(backend, ranges_, bytes(options.sum_type));
  // Collectives for every micro-batch need as many of them on every rank.
  if (!keeping.meets_each() && !options.layered) options_.keep_gathered = true;
  if (!computes_) options_.keep_gathered = false;
  reduces_each_ =
      keeping.divided_gradients && !tied_.elsewhere && keeping.meets_each() && !options.layered;
  fill(options);
  make_views();
  end_step();  // what is divided is gathered when it is needed
  // Whole gradients of all layers at once may be more than a rank has: each step makes its own.
  if (divided_gradients_) set_memory(gradients_, false);
}

void LayerState::find_shards(const Keeping& keeping, const plan::LayerRun& run, int rank, int of,
                             GroupCache& groups) {
  const std::vector<std::vector<Shard>> copies =
      whole_copies(shards_of(run, plan::StateKind::kOptimizer, slice_, length_));
  if (!divided_optimizer_) {  // a whole copy each
    owned_ = {0, length_};
    first_copy_ = copies.front().front().rank == rank;
    return;
  }
  if (copies.size() == 1) {  // all members are in it, with nothing of their own perhaps
    for (const int member : keeping.members) {
      Range range{};
      for (const Shard& shard : copies.front())
        if (shard.rank == member) range = as_range(shard.range);
      ranges_.push_back(range);
      if (member == rank) owned_ = range;
    }
    shards_ = groups.get(keeping.members, of);
    return;
  }
  for (const std::vector<Shard>& copy : copies)
    for (std::size_t place = 0; place < copy.size(); ++place) {
      if (copy[place].rank != rank) continue;
      owned_ = as_range(copy[place].range);
      first_copy_ = &copy == &copies.front();
      std::vector<int> members, same;
      for (const Shard& shard : copy) {
        members.push_back(shard.rank);
        ranges_.push_back(as_range(shard.range));
      }
      for (const std::vector<Shard>& other : copies) same.push_back(other.at(place).rank);
      shards_ = groups.get(members, of);
      copies_ = groups.get(same, of);
    }
}

// Cut parameters first: those that every tensor rank holds are then one range at the end.
void LayerState::lay_out(LayerState* alias) {
  offsets_.assign(parameters_.size(), -1);
  for (const bool cut : {true, false}) {
    if (!cut) replicated_begin_ = length_;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if ((parameters_[i].cut.dim >= 0) != cut) continue;
      if (parameters_[i].tied_to_layer >= 0 && alias) continue;
      offsets_[i] = length_;
      length_ += slice_elements(parameters_[i], slice_, num_slices_);
    }
  }
}

at::Tensor LayerState::starting_values() const {
  at::Tensor values =
      at::empty({length_}, at::TensorOptions(options_.device).dtype(options_.sum_type));
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (offsets_[i] < 0) continue;
    const at::Tensor whole = layer_->starting_value(i, options_.seed);
    const at::Tensor slice = take_slice(whole, parameters_[i].cut, slice_, num_slices_);
    values.narrow(0, offsets_[i], slice.numel()).copy_(slice.reshape({-1}));
  }
  return values;
}

void LayerState::start_afresh() {
  if (length_ > 0) own_master().copy_(part(starting_values(), owned_));
}

void LayerState::fill(const StateOptions& options) {
  const at::TensorOptions wide = at::TensorOptions(options.device).dtype(options.sum_type);
  const at::Tensor values = options.starts_empty ? at::empty({length_}, wide) : starting_values();
  weights_ = values.to(options.type).clone();
  if (options.sum_type != options.type) master_ = part(values, owned_).clone();
  gradients_ = at::zeros({length_}, wide);
  if (divided_gradients_) own_sum_ = at::zeros({owned_.size()}, wide);
  if (divided_weights_) own_weights_ = part(weights_, owned_).clone();
  is_gathered_ = true;  // for now
}

void LayerState::make_views() {
  if (const std::optional<NormOf> norm = layer_->norm(); norm && computes_) {
    statistics_ = std::make_unique<NormStatistics>();
    statistics_->of = *norm;
    statistics_->running = at::zeros({2, norm->channels}, gradients_.options());
    statistics_->running[1].fill_(1);
    statistics_->step = at::zeros_like(statistics_->running);
    views_.statistics = statistics_.get();
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (offsets_[i] < 0) {
      const auto& tied = alias_->views_;
      for (std::size_t j = 0; j < alias_->parameters_.size(); ++j)
        if (alias_->parameters_[j].name == parameters_[i].name) {
          views_.values.push_back(tied.values[j]);
          views_.gradients.push_back(tied.gradients[j]);
        }
      NEREUS_CHECK(views_.values.size() == i + 1, "a tied weight is in its first layer");
      continue;
    }
    const std::vector<std::int64_t> shape = slice_shape(parameters_[i], slice_, num_slices_);
    const std::int64_t elements = slice_elements(parameters_[i], slice_, num_slices_);
    const auto view = [&](const at::Tensor& flat) {
      return flat.narrow(0, offsets_[i], elements).view(shape).variable_data();
    };
    views_.values.push_back(view(weights_).set_requires_grad(true));
    views_.gradients.push_back(view(gradients_));
    if (options_.type == options_.sum_type)
      views_.values.back().mutable_grad() = views_.gradients.back();
  }
}

const Weights& LayerState::gathered() {
  if (alias_) alias_->gathered();
  gather_start();
  wait_gathered();
  return views_;
}

void LayerState::wait_gathered() {
  if (!gathering_) return;
  gather_wait += seconds_of(gathering_);
  gathering_ = nullptr;
}

void LayerState::join_gather() {
  gather_start();
  end_step();
}

void LayerState::gather_start() {
  if (is_gathered_ || !gathers_) return;
  is_gathered_ = true;
  set_memory(weights_, true);
  part(weights_, owned_).copy_(own_weights_);
  gathering_ = all_gather(*shards_, weights_, ranges_, weights_form_);
}

void LayerState::gather_start_all() {
  if (alias_) alias_->gather_start();
  gather_start();
}

void LayerState::release() {
  if (options_.keep_gathered) return;
  end_step();
  if (alias_) alias_->release();
}

void LayerState::end_step() {
  if (!divided_weights_ || !is_gathered_) return;
  wait_gathered();  // an unused gather must have ended
  set_memory(weights_, false);
  is_gathered_ = false;
}

void LayerState::begin_step() {
  if (statistics_) statistics_->step.zero_();
  if (divided_gradients_) {
    clear(own_sum_);
    set_memory(gradients_, false);
  } else {
    clear(gradients_);
  }
}

void LayerState::begin_backward() {
  if (alias_) alias_->begin_backward();
  if (!divided_gradients_) return;
  reduce_wait_own();
  if (gradients_.storage().nbytes() > 0) return;
  set_memory(gradients_, true);
  clear(gradients_);
}

void LayerState::after_backward() {
  if (options_.type == options_.sum_type) return;
  for (std::size_t i = 0; i < views_.values.size(); ++i) {
    at::Tensor& made = views_.values[i].mutable_grad();
    if (!made.defined()) continue;
    views_.gradients[i].add_(made);
    made.reset();
  }
}

void LayerState::reduce_micro_batch() {
  if (!reduces_each_) return;
  reduce_team();
  reducing_ = reduce_scatter(*shards_, gradients_, ranges_, gradients_form_);
}

// The result of the last micro-batch's reduction.
void LayerState::reduce_wait_own() {
  if (!reducing_ || !divided_gradients_) return;
  reduce_wait += seconds_of(reducing_);
  reducing_ = nullptr;
  own_sum_.add_(part(gradients_, owned_));
  set_memory(gradients_, false);
}

void LayerState::reduce_team() {
  if (team_ && length_ > replicated_begin_)
    reduce_wait += seconds_of(team_->all_reduce(part(gradients_, {replicated_begin_, length_})));
}

void LayerState::reduce_start() {
  if (reduces_each_ || length_ == 0) return;  // every micro-batch did; nothing to do
  reduce_team();
  if (tied_.group) reduce_wait += seconds_of(tied_.group->all_reduce(gradient_of(tied_.name)));
  if (divided_optimizer_)
    reducing_ = reduce_scatter(*shards_, gradients_, ranges_, gradients_form_);
  else if (data_)
    reducing_ = data_->all_reduce(gradients_);
}

void LayerState::reduce_finish() {
  if (divided_gradients_) {
    reduce_wait_own();
  } else if (reducing_) {
    reduce_wait += seconds_of(reducing_);
    reducing_ = nullptr;
  }
  if (copies_) reduce_wait += seconds_of(copies_->all_reduce(own_gradient()));
}

at::Tensor LayerState::gradient_of(const std::string& parameter) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].name == parameter && offsets_[i] >= 0)
      return gradients_.narrow(0, offsets_[i], slice_elements(parameters_[i], slice_, num_slices_));
  NEREUS_CHECK(false, "the layer has no such parameter");
  return {};
}

at::Tensor LayerState::own_gradient() const {
  return divided_gradients_ ? own_sum_ : part(gradients_, owned_);
}

at::Tensor LayerState::own_master() const {
  if (master_.defined()) return master_;
  return divided_weights_ ? own_weights_ : part(weights_, owned_);
}

LayerState::Places LayerState::places() const {
  const auto own = [&](const at::Tensor& divided, const at::Tensor& whole, bool is_divided) {
    if (is_divided) return divided.data_ptr();
    return static_cast<void*>(static_cast<char*>(whole.data_ptr()) +
                              owned_.begin * static_cast<std::int64_t>(whole.element_size()));
  };
  void* const weights = own(own_weights_, weights_, divided_weights_);
  void* const gradient = own(own_sum_, gradients_, divided_gradients_);
  const bool has_master = master_.defined();
  return {has_master ? master_.data_ptr() : weights, gradient, has_master ? weights : nullptr,
          weights_.scalar_type()};
}

void LayerState::store_update() {
  if (!master_.defined()) return;
  (divided_weights_ ? own_weights_ : part(weights_, owned_)).copy_(master_);
}

void LayerState::spread_start() {
  end_step();
  if (!divided_optimizer_ || gathers_) return;
  if (computes_) {
    gathering_ = all_gather(*shards_, weights_, ranges_, weights_form_);
    return;
  }
  set_memory(weights_, true);
  part(weights_, owned_).copy_(own_weights_);
  gather_wait += seconds_of(all_gather(*shards_, weights_, ranges_, weights_form_));
  set_memory(weights_, false);
}

}  // namespace nereus::worker
