#include "worker/ops/batch_norm.hpp"

#include <chrono>
#include <cmath>

#include "base/error.hpp"

namespace nereus::worker {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

at::ScalarType wide_type(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

// The input type of libtorch's kernels: those for CPUs keep statistics of narrow inputs narrow.
at::Tensor for_kernel(const at::Tensor& x) { return x.is_cuda() ? x : x.to(wide_type(x)); }

struct NormCall : torch::CustomClassHolder {
  at::Tensor weight, bias, weight_gradient, bias_gradient;
  double epsilon = 0;
  std::int64_t group_samples = 0;
  Group* sync = nullptr;
  double* wait = nullptr;
  // Computed by forward, per group: [groups, c].
  at::Tensor mean, inverse;
  at::Tensor count;  // values of a channel in a group; a tensor, so that a GPU need not be asked

  void add_gradients(const at::Tensor& gw, const at::Tensor& gb) const {
    weight_gradient.add_(gw);
    bias_gradient.add_(gb);
  }
};
using NormCallPtr = c10::intrusive_ptr<NormCall>;

void timed_wait(const Handle& handle, double* wait) {
  const auto start = std::chrono::steady_clock::now();
  handle->wait();
  if (wait)
    *wait += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

at::Tensor by_channel(const at::Tensor& values) { return values.view({1, -1, 1, 1}); }

// Groups within the micro-batch, each by libtorch's kernel.
at::Tensor normalise_groups(const at::Tensor& x, NormCall& call) {
  const at::Tensor w = call.weight.to(wide_type(x)), b = call.bias.to(wide_type(x));
  std::vector<at::Tensor> ys, means, inverses;
  for (const at::Tensor& part : for_kernel(x).split(call.group_samples)) {
    auto [y, mean, inverse] =
        at::native_batch_norm(part.contiguous(), w, b, {}, {}, true, 0, call.epsilon);
    ys.push_back(y);
    means.push_back(mean);
    inverses.push_back(inverse);
  }
  call.mean = at::stack(means);
  call.inverse = at::stack(inverses);
  const std::int64_t count = call.group_samples * x.size(2) * x.size(3);
  call.count = at::full({}, static_cast<double>(count), call.mean.options());
  return (ys.size() == 1 ? ys[0] : at::cat(ys)).to(x.scalar_type());
}

at::Tensor groups_backward(const at::Tensor& gy, const at::Tensor& x, const NormCall& call) {
  const at::Tensor w = call.weight.to(wide_type(x));
  const std::vector<at::Tensor> xs = for_kernel(x).split(call.group_samples);
  const std::vector<at::Tensor> gys = for_kernel(gy).split(call.group_samples);
  std::vector<at::Tensor> gxs;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    auto [gx, gw, gb] = at::native_batch_norm_backward(gys[i].contiguous(), xs[i].contiguous(), w,
                                                       {}, {}, call.mean[at], call.inverse[at],
                                                       true, call.epsilon, {true, true, true});
    call.add_gradients(gw, gb);
    gxs.push_back(gx);
  }
  return (gxs.size() == 1 ? gxs[0] : at::cat(gxs)).to(x.scalar_type());
}

// One group over all ranks of call.sync: a slot of [mean, squares, count] from each.
at::Tensor normalise_together(const at::Tensor& narrow, NormCall& call) {
  const at::Tensor x = narrow.to(wide_type(narrow));
  const std::int64_t channels = x.size(1), slot = 2 * channels + 1;
  const int size = call.sync->size(), index = call.sync->index();
  const at::Tensor own_mean = x.mean({0, 2, 3});
  at::Tensor slots = at::zeros({size, slot}, x.options());
  slots[index].narrow(0, 0, channels).copy_(own_mean);
  slots[index]
      .narrow(0, channels, channels)
      .copy_((x - by_channel(own_mean)).square_().sum({0, 2, 3}));
  slots[index][2 * channels] = static_cast<double>(x.numel() / channels);
  std::vector<Range> ranges;
  for (int i = 0; i < size; ++i) ranges.push_back({i * slot, (i + 1) * slot});
  timed_wait(call.sync->all_gather(slots.view({-1}), ranges), call.wait);

  const at::Tensor counts = slots.narrow(1, 2 * channels, 1);
  const at::Tensor means = slots.narrow(1, 0, channels);
  call.count = counts.sum();
  const at::Tensor mean = (means * counts).sum(0) / call.count;
  const at::Tensor squares =
      slots.narrow(1, channels, channels).sum(0) + ((means - mean).square() * counts).sum(0);
  call.mean = mean.unsqueeze(0);
  call.inverse = at::rsqrt(squares / call.count + call.epsilon).unsqueeze(0);
  const at::Tensor scale = call.inverse[0] * call.weight.to(x.scalar_type());
  return ((x - by_channel(mean)) * by_channel(scale) + by_channel(call.bias.to(x.scalar_type())))
      .to(narrow.scalar_type());
}

at::Tensor together_backward(const at::Tensor& narrow_gy, const at::Tensor& narrow_x,
                             const NormCall& call) {
  const at::ScalarType wide = wide_type(narrow_x);
  const at::Tensor gy = narrow_gy.to(wide);
  const at::Tensor normal =
      (narrow_x.to(wide) - by_channel(call.mean[0])) * by_channel(call.inverse[0]);
  at::Tensor sums = at::stack({gy.sum({0, 2, 3}), (gy * normal).sum({0, 2, 3})});
  call.add_gradients(sums[1], sums[0]);
  timed_wait(call.sync->all_reduce(sums.view({-1})), call.wait);
  sums.div_(call.count);
  return ((gy - by_channel(sums[0]) - normal * by_channel(sums[1])) *
          by_channel(call.inverse[0] * call.weight.to(wide)))
      .to(narrow_x.scalar_type());
}

struct NormFunction : Function<NormFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const NormCallPtr& call) {
    context->save_for_backward({x});
    context->saved_data["call"] = c10::IValue::make_capsule(call);
    return call->sync ? normalise_together(x, *call) : normalise_groups(x, *call);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::Tensor x = context->get_saved_variables()[0];
    const NormCallPtr call =
        c10::static_intrusive_pointer_cast<NormCall>(context->saved_data["call"].toCapsule());
    return {call->sync ? together_backward(gradients[0], x, *call)
                       : groups_backward(gradients[0], x, *call),
            at::Tensor()};
  }
};

// This pass's terms of the sum above. Ranks that normalise together have the same: the first adds.
void add_statistics(const NormCall& call, double momentum, const PassContext& pass,
                    NormStatistics& statistics) {
  if (pass.recomputing || (call.sync && call.sync->index() > 0)) return;
  const at::NoGradGuard no_grad;
  const at::Tensor variance = (call.inverse.square().reciprocal() - call.epsilon).clamp_min_(0) *
                              (call.count / (call.count - 1));
  for (std::int64_t i = 0; i < call.mean.size(0); ++i) {
    const auto after = static_cast<double>(pass.norm.total - 1 - (pass.norm.first + i));
    const double share = momentum * std::pow(1 - momentum, after);
    statistics.step[0].add_(call.mean[i], share);
    statistics.step[1].add_(variance[i], share);
  }
}

}  // namespace

at::Tensor batch_norm(const at::Tensor& x, const Weights& weights, int weight,
                      const model::NormConstants& constants, PassContext& pass) {
  const NormCallPtr call = c10::make_intrusive<NormCall>();
  const auto at = static_cast<std::size_t>(weight);
  call->weight = weights.values[at];
  call->bias = weights.values[at + 1];
  call->weight_gradient = weights.gradients[at];
  call->bias_gradient = weights.gradients[at + 1];
  call->epsilon = constants.epsilon;
  call->group_samples = pass.norm.samples > 0 ? pass.norm.samples : x.size(0);
  call->sync = pass.norm.sync;
  call->wait = pass.tensor_wait;
  NEREUS_CHECK(x.size(0) % call->group_samples == 0, "check_norm() refuses other plans");
  const at::Tensor y = NormFunction::apply(x, call);
  add_statistics(*call, constants.momentum, pass, *weights.statistics);
  return y;
}

}  // namespace nereus::worker
