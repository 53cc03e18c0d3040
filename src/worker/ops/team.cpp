#include "worker/ops/team.hpp"

#include "worker/device/torch_compat.hpp"
#include "worker/ops/gpu_kernels.hpp"

#include <fmt/format.h>

#include <chrono>

namespace nereus::worker {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// What a team's functions need: the group, and where to add the seconds. The executor owns both for
// the lifetime of the graph.
struct Team {
  Group* group = nullptr;
  double* wait = nullptr;
};

template <class Operation>
void timed(const Team& team, const Operation& operation) {
  const auto start = std::chrono::steady_clock::now();
  operation()->wait();
  if (team.wait)
    *team.wait += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

at::Tensor summed(const at::Tensor& x, const Team& team) {
  at::Tensor sum = x.contiguous().clone();
  timed(team, [&] { return team.group->all_reduce(sum.view({-1})); });
  return sum;
}

std::vector<Range> equal_ranges(std::int64_t elements, int parts) {
  std::vector<Range> ranges;
  for (int i = 0; i < parts; ++i)
    ranges.push_back({elements / parts * i, elements / parts * (i + 1)});
  return ranges;
}

// [n, s / tp, h] -> [n, s, h]: slices lie one behind the other once the sequence comes first.
at::Tensor gathered(const at::Tensor& x, const Team& team) {
  const int size = team.group->size();
  const std::int64_t own = x.size(1);
  at::Tensor whole = at::empty({own * size, x.size(0), x.size(2)}, x.options());
  whole.narrow(0, own * team.group->index(), own).copy_(x.transpose(0, 1));
  timed(team, [&] {
    return team.group->all_gather(whole.view({-1}), equal_ranges(whole.numel(), size));
  });
  return whole.transpose(0, 1).contiguous();
}

// [n, s, h] on every rank -> the sum's [n, s / tp, h].
at::Tensor scattered(const at::Tensor& x, const Team& team) {
  const int size = team.group->size();
  at::Tensor whole = x.transpose(0, 1).contiguous();
  if (whole.is_same(x) || whole.data_ptr() == x.data_ptr()) whole = whole.clone();
  timed(team, [&] {
    return team.group->reduce_scatter(whole.view({-1}), equal_ranges(whole.numel(), size));
  });
  const std::int64_t own = whole.size(0) / size;
  return whole.narrow(0, own * team.group->index(), own).transpose(0, 1).contiguous();
}

void keep(AutogradContext* context, const Team& team) {
  context->saved_data["group"] = reinterpret_cast<std::int64_t>(team.group);
  context->saved_data["wait"] = reinterpret_cast<std::int64_t>(team.wait);
}

Team team_of(AutogradContext* context) {
  return {reinterpret_cast<Group*>(context->saved_data["group"].toInt()),
          reinterpret_cast<double*>(context->saved_data["wait"].toInt())};
}

struct EnterFunction : Function<EnterFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, std::int64_t group,
                            std::int64_t wait, bool sequence) {
    const Team team{reinterpret_cast<Group*>(group), reinterpret_cast<double*>(wait)};
    keep(context, team);
    context->saved_data["sequence"] = sequence;
    return sequence ? gathered(x, team) : x.view_as(x);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const Team team = team_of(context);
    const bool sequence = context->saved_data["sequence"].toBool();
    return {sequence ? scattered(gradients[0], team) : summed(gradients[0], team), {}, {}, {}};
  }
};

struct LeaveFunction : Function<LeaveFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, std::int64_t group,
                            std::int64_t wait, bool sequence) {
    const Team team{reinterpret_cast<Group*>(group), reinterpret_cast<double*>(wait)};
    keep(context, team);
    context->saved_data["sequence"] = sequence;
    return sequence ? scattered(x, team) : summed(x, team);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const bool sequence = context->saved_data["sequence"].toBool();
    return {sequence ? gathered(gradients[0], team_of(context)) : gradients[0], {}, {}, {}};
  }
};

// -log softmax(logits)[target], with the vocabulary divided: three small sums over the team.
struct CrossEntropyFunction : Function<CrossEntropyFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& logits,
                            const at::Tensor& targets, std::int64_t first_class,
                            std::int64_t num_classes, double scale, std::int64_t group,
                            std::int64_t wait) {
    const Team team{reinterpret_cast<Group*>(group), reinterpret_cast<double*>(wait)};
    const bool narrow = logits.scalar_type() != at::kDouble;
    at::Tensor wide = narrow ? logits.to(at::kFloat) : logits;
    at::Tensor largest = wide.amax(-1);
    if (team.group) timed(team, [&] { return team.group->all_reduce(largest, Reduction::kMax); });
    at::Tensor share = (wide - largest.unsqueeze(-1)).exp_();
    at::Tensor total = share.sum(-1);
    const at::Tensor local = targets - first_class;
    const at::Tensor outside = (local < 0).logical_or(local >= num_classes);
    const at::Tensor place = local.masked_fill(outside, 0).unsqueeze(-1);
    at::Tensor target = wide.gather(-1, place).squeeze(-1) - largest;
    target.masked_fill_(outside, 0);
    at::Tensor both = at::cat({total, target});
    timed(team, [&] { return team.group->all_reduce(both); });
    total = both.narrow(0, 0, total.numel());
    target = both.narrow(0, total.numel(), target.numel());
    share.div_(total.unsqueeze(-1));
    context->save_for_backward({share, place, outside});
    context->saved_data["scale"] = scale;
    context->saved_data["type"] = logits.scalar_type();
    return (total.log() - target).sum().mul_(scale);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    at::Tensor share = saved[0];
    const at::Tensor ones = saved[2].logical_not().to(share.scalar_type()).neg_().unsqueeze(-1);
    share.scatter_add_(-1, saved[1], ones);
    share.mul_(gradients[0] * context->saved_data["scale"].toDouble());
    return {share.to(context->saved_data["type"].toScalarType()), {}, {}, {}, {}, {}, {}};
  }
};

// The same on one rank: our kernel on GPUs, else libtorch's fused log softmax, and a gradient that
// is written only once, in the type of the logits.
struct WholeCrossEntropyFunction : Function<WholeCrossEntropyFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& logits,
                            const at::Tensor& targets, double scale) {
    at::Tensor losses, log_sums;
    if (gpu_cross_entropy(logits, targets, losses, log_sums)) {
      context->save_for_backward({logits, targets, log_sums});
      context->saved_data["scale"] = scale;
      return losses.sum().mul_(scale);
    }
    const at::Tensor logs = wide_log_softmax(logits);
    const at::Tensor place = targets.unsqueeze(-1);
    context->save_for_backward({logs, place});
    context->saved_data["scale"] = scale;
    context->saved_data["type"] = logits.scalar_type();
    return logs.gather(-1, place).sum().mul_(-scale);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    if (saved.size() == 3) {
      const at::Tensor by = (gradients[0] * context->saved_data["scale"].toDouble()).to(at::kFloat);
      at::Tensor gradient;
      TORCH_CHECK(gpu_cross_entropy_gradient(saved[0], saved[1], saved[2], by, gradient));
      return {gradient, {}, {}};
    }
    const at::ScalarType type = context->saved_data["type"].toScalarType();
    at::Tensor gradient = at::empty(saved[0].sizes(), saved[0].options().dtype(type));
    at::exp_out(gradient, saved[0]);
    const at::Tensor scale = (gradients[0] * context->saved_data["scale"].toDouble()).to(type);
    gradient.mul_(scale);
    gradient.scatter_add_(-1, saved[1], scale.neg().expand_as(saved[1]));
    return {gradient, {}, {}};
  }
};

std::int64_t group_number(const PassContext& pass) {
  return reinterpret_cast<std::int64_t>(pass.tensor);
}
std::int64_t wait_number(const PassContext& pass) {
  return reinterpret_cast<std::int64_t>(pass.tensor_wait);
}

}  // namespace

at::Tensor enter_region(const at::Tensor& x, PassContext& pass) {
  if (pass.tensor_size() == 1) return x;
  return EnterFunction::apply(x, group_number(pass), wait_number(pass), pass.sequence_parallel);
}

at::Tensor leave_region(const at::Tensor& x, PassContext& pass) {
  if (pass.tensor_size() == 1) return x;
  return LeaveFunction::apply(x, group_number(pass), wait_number(pass), pass.sequence_parallel);
}

at::Tensor own_part_of_sequence(const at::Tensor& x, const PassContext& pass) {
  if (!pass.sequence_parallel || pass.tensor_size() == 1) return x;
  const std::int64_t own = x.size(1) / pass.tensor_size();
  return x.narrow(1, own * pass.tensor_index(), own);
}

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& targets, const Range& classes,
                         PassContext& pass) {
  if (pass.tensor_size() == 1)
    return WholeCrossEntropyFunction::apply(logits, targets, pass.loss_scale);
  return CrossEntropyFunction::apply(logits, targets, classes.begin, classes.size(),
                                     pass.loss_scale, group_number(pass), wait_number(pass));
}

at::Tensor drop(const at::Tensor& x, int layer, int site, const PassContext& pass) {
  if (pass.dropout <= 0) return x;
  const std::int64_t whole_length = x.size(1) * (pass.sequence_parallel ? pass.tensor_size() : 1);
  std::vector<at::Tensor> masks;
  for (std::int64_t i = 0; i < pass.batch.num_samples; ++i) {
    const std::string place =
        fmt::format("{}.{}.{}.{}", pass.step, pass.batch.first_sample + i, layer, site);
    at::Generator generator = at::detail::createCPUGenerator(hash_of(place, pass.seed));
    masks.push_back(at::empty({whole_length, x.size(2)}, at::kFloat)
                        .bernoulli_(1 - pass.dropout, generator)
                        .div_(1 - pass.dropout));
  }
  const at::Tensor mask = own_part_of_sequence(at::stack(masks), pass);
  return x * mask.to(x.options());
}

}  // namespace nereus::worker
