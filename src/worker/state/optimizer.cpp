#include "worker/state/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.hpp"
#include "worker/device/torch_compat.hpp"

namespace nereus::worker {

namespace {

using Kind = Pieces::Kind;

// Elements of one piece on a GPU: some 100 us.
constexpr std::int64_t kPart = std::int64_t{1} << 24;
constexpr Range kAll{0, std::numeric_limits<std::int64_t>::max()};

template <class Number>
void adamw(Number* w, const Number* g, Number* m, Number* v, std::int64_t count,
           const UpdateConstants& c) {
  const auto b1 = static_cast<Number>(c.beta1), b2 = static_cast<Number>(c.beta2);
  const auto keep = static_cast<Number>(1 - c.rate * c.decay);
  const auto step = static_cast<Number>(c.rate / c.correct1);
  const auto root = static_cast<Number>(1 / std::sqrt(c.correct2));
  const auto epsilon = static_cast<Number>(c.epsilon), scale = static_cast<Number>(c.scale);
  for (std::int64_t i = 0; i < count; ++i) {
    const Number gradient = g[i] * scale;
    m[i] = b1 * m[i] + (1 - b1) * gradient;
    v[i] = b2 * v[i] + (1 - b2) * gradient * gradient;
    w[i] = w[i] * keep - step * m[i] / (std::sqrt(v[i]) * root + epsilon);
  }
}

template <class Number>
void sgd(Number* w, const Number* g, Number* u, std::int64_t count, const UpdateConstants& c) {
  const auto rate = static_cast<Number>(c.rate), decay = static_cast<Number>(c.decay);
  const auto momentum = static_cast<Number>(c.momentum), scale = static_cast<Number>(c.scale);
  for (std::int64_t i = 0; i < count; ++i) {
    u[i] = momentum * u[i] + g[i] * scale;
    w[i] -= rate * (u[i] + decay * w[i]);
  }
}

template <class Number>
void update_range(Optimizer::Slot& slot, const Range& range, job::OptimizerKind kind,
                  const UpdateConstants& c) {
  const std::int64_t begin = range.begin - slot.state->owned().begin;
  const at::Tensor master = slot.state->own_master(), gradient = slot.state->own_gradient();
  Number* w = master.data_ptr<Number>() + begin;
  const Number* g = gradient.data_ptr<Number>() + begin;
  Number* m = slot.first.data_ptr<Number>() + begin;
  if (kind == job::OptimizerKind::kSgd)
    sgd(w, g, m, range.size(), c);
  else
    adamw(w, g, m, slot.second.data_ptr<Number>() + begin, range.size(), c);
}

Range meet(const Range& a, const Range& b) {
  const Range both{std::max(a.begin, b.begin), std::min(a.end, b.end)};
  return both.size() > 0 ? both : Range{a.begin, a.begin};
}

void add_range(std::vector<Range>& ranges, const Range& range) {
  if (range.size() <= 0) return;
  if (!ranges.empty() && ranges.back().end == range.begin)
    ranges.back().end = range.end;
  else
    ranges.push_back(range);
}

// do_run(range, decays) of all that is kept, in order.
template <class Do>
void for_each_run(const Optimizer::Slot& slot, const Do& do_run) {
  std::int64_t at = slot.state->owned().begin;
  const auto run = [&](const Range& range, bool decays) {
    if (range.size() > 0) do_run(range, decays);
    at = range.end;
  };
  for (const Range& range : slot.decayed) {
    run({at, range.begin}, false);
    run(range, true);
  }
  run({at, slot.state->owned().end}, false);
}

}  // namespace

double rate_at(const job::Training& t, std::int64_t step) {
  if (step < t.warmup_steps)
    return t.rate * static_cast<double>(step + 1) / static_cast<double>(t.warmup_steps);
  const std::int64_t end = t.decay_steps > 0 ? t.decay_steps : t.steps;
  const double done = end > t.warmup_steps
                          ? std::min(1.0, static_cast<double>(step - t.warmup_steps) /
                                              static_cast<double>(end - t.warmup_steps))
                          : 1.0;
  switch (t.rate_schedule) {
    case job::RateSchedule::kConstant:
      return t.rate;
    case job::RateSchedule::kLinear:
      return t.rate + (t.last_rate - t.rate) * done;
    case job::RateSchedule::kCosine:
      return t.last_rate + (t.rate - t.last_rate) * 0.5 * (1 + std::cos(std::numbers::pi * done));
  }
  return t.rate;
}

void update_flat(const at::Tensor& weights, const at::Tensor& gradients, const at::Tensor& first,
                 const at::Tensor& second, const UpdateConstants& c) {
  if (fused_adamw({weights}, {gradients}, {first}, {second}, 1, c.rate, c.beta1, c.beta2, c.decay,
                  c.epsilon))
    return;
  adamw(weights.data_ptr<float>(), gradients.data_ptr<float>(), first.data_ptr<float>(),
        second.data_ptr<float>(), weights.numel(), c);
}

void Optimizer::add(LayerState& state) {
  Slot slot;
  slot.state = &state;
  const at::Tensor like = state.own_master();
  slot.first = at::zeros_like(like);
  if (training_.optimizer == job::OptimizerKind::kAdamW) slot.second = at::zeros_like(like);

  const Range owned = state.owned();
  // In the order of the buffer, so that adjacent ranges are joined.
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < state.parameters().size(); ++i)
    if (state.offset(i) >= 0) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return state.offset(a) < state.offset(b); });
  for (const std::size_t i : order) {
    const Parameter& parameter = state.parameters()[i];
    const std::int64_t begin = state.offset(i);
    const Range range{begin, begin + slice_elements(parameter, state.slice(), state.num_slices())};
    const bool cut = parameter.cut.dim >= 0;
    if (parameter.decays()) add_range(slot.decayed, meet(owned, range));
    if (state.first_copy() && (cut || state.slice() == 0) && parameter.tied_to_layer < 0)
      add_range(slot.counted, meet(owned, range));
  }
  slots_.push_back(std::move(slot));
}

double Optimizer::square_of_norm(Pieces* pieces) const {
  if (!slots_.empty() && slots_[0].first.is_cuda()) {
    // One question to the device instead of one a layer.
    std::vector<at::Tensor> parts, norms;
    for (const Slot& slot : slots_) {
      for (const Range& range : slot.counted)
        parts.push_back(slot.state->own_gradient().narrow(
            0, range.begin - slot.state->owned().begin, range.size()));
      if ((!pieces && &slot != &slots_.back()) || parts.empty()) continue;
      const Pieces::Turn turn(pieces, Pieces::key(slot.state->layer().index, Kind::kNorm, 1));
      for (at::Tensor& norm : at::_foreach_norm(parts, 2)) norms.push_back(std::move(norm));
      parts.clear();
    }
    if (norms.empty()) return 0;
    const Pieces::Turn turn(pieces, Pieces::key(0, Kind::kNorm));
    return at::stack(norms).to(at::kDouble).square().sum().item<double>();
  }
  const Pieces::Turn turn(pieces, Pieces::key(0, Kind::kNorm));
  double sum = 0;
  for (const Slot& slot : slots_) {
    const at::Tensor gradient = slot.state->own_gradient();
    for (const Range& range : slot.counted)
      sum += gradient.narrow(0, range.begin - slot.state->owned().begin, range.size())
                 .to(at::kDouble)
                 .square()
                 .sum()
                 .item<double>();
  }
  return sum;
}

void Optimizer::update(std::int64_t step, double scale, Pieces* pieces) {
  const auto k = static_cast<double>(step + 1);
  const UpdateConstants c{rate_at(training_, step),
                          training_.beta1,
                          training_.beta2,
                          training_.epsilon,
                          training_.momentum,
                          0,
                          scale,
                          1 - std::pow(training_.beta1, k),
                          1 - std::pow(training_.beta2, k)};
  const bool on_device = !slots_.empty() && slots_[0].first.is_cuda();
  if (on_device && !pieces) {
    if (update_in_one_launch(slots_, c, kAll)) return;
    update_by_libtorch(slots_, c, k, kAll);
    for (Slot& slot : slots_) slot.state->store_update();
    return;
  }
  for (Slot& slot : slots_) {
    const int layer = slot.state->layer().index;
    const Range owned = slot.state->owned();
    bool is_stored = false;
    for (std::int64_t part = 0; on_device && part * kPart < owned.size(); ++part) {
      const Pieces::Turn turn(pieces, Pieces::key(layer, Kind::kUpdate, part + 1));
      const std::int64_t begin = owned.begin + part * kPart;
      is_stored = update_in_one_launch({&slot, 1}, c, {begin, begin + kPart});
      if (!is_stored) update_by_libtorch({&slot, 1}, c, k, {begin, begin + kPart});
    }
    if (is_stored) continue;
    const Pieces::Turn turn(pieces, Pieces::key(layer, Kind::kUpdate));
    if (!on_device) update_on_host(slot, c);
    slot.state->store_update();
  }
}

void Optimizer::update_on_host(Slot& slot, UpdateConstants c) {
  for_each_run(slot, [&](const Range& range, bool decays) {
    c.decay = decays ? training_.weight_decay : 0;
    if (slot.first.scalar_type() == at::kDouble)
      update_range<double>(slot, range, training_.optimizer, c);
    else
      update_range<float>(slot, range, training_.optimizer, c);
  });
}

bool Optimizer::update_in_one_launch(std::span<Slot> slots, UpdateConstants c, Range part) {
  std::vector<UpdateSpan> spans;
  for (Slot& slot : slots) {
    const LayerState::Places places = slot.state->places();
    if (slot.first.scalar_type() != at::kFloat ||
        (places.weights && places.weights_type != at::kBFloat16))
      return false;
    float* const first = slot.first.data_ptr<float>();
    float* const second = slot.second.defined() ? slot.second.data_ptr<float>() : nullptr;
    for_each_run(slot, [&](const Range& all, bool decays) {
      const Range range = meet(all, part);
      if (range.size() == 0) return;
      const std::int64_t begin = range.begin - slot.state->owned().begin;
      spans.push_back(
          {static_cast<float*>(places.master) + begin,
           static_cast<const float*>(places.gradient) + begin, first + begin,
           second ? second + begin : nullptr,
           places.weights ? static_cast<std::uint16_t*>(places.weights) + begin : nullptr,
           range.size(), decays});
    });
  }
  c.decay = training_.weight_decay;
  return launches_[{&slots.front(), part.begin}].run(spans, c);
}

// With whole tensors: one launch for everything with weight decay, one for the rest.
void Optimizer::update_by_libtorch(std::span<Slot> slots, const UpdateConstants& c, double k,
                                   Range part) {
  for (const bool decaying : {true, false}) {
    std::vector<at::Tensor> weights, gradients, first, second;
    for (Slot& slot : slots)
      for_each_run(slot, [&](const Range& all, bool decays) {
        const Range range = meet(all, part);
        if (decays != decaying || range.size() == 0) return;
        const std::int64_t begin = range.begin - slot.state->owned().begin;
        weights.push_back(slot.state->own_master().narrow(0, begin, range.size()));
        gradients.push_back(slot.state->own_gradient().narrow(0, begin, range.size()));
        first.push_back(slot.first.narrow(0, begin, range.size()));
        if (slot.second.defined()) second.push_back(slot.second.narrow(0, begin, range.size()));
      });
    if (weights.empty()) continue;
    const double decay = decaying ? training_.weight_decay : 0;
    if (c.scale != 1) at::_foreach_mul_(gradients, c.scale);
    if (training_.optimizer == job::OptimizerKind::kSgd) {
      at::_foreach_mul_(first, c.momentum);
      at::_foreach_add_(first, gradients);
      if (decay > 0) at::_foreach_mul_(weights, 1 - c.rate * decay);
      at::_foreach_add_(weights, first, -c.rate);
    } else {
      NEREUS_CHECK(fused_adamw(weights, gradients, first, second, k, c.rate, c.beta1, c.beta2,
                               decay, c.epsilon),
                   "a libtorch with CUDA has the fused kernel");
    }
  }
}

}  // namespace nereus::worker
