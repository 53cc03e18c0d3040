#include "worker/ops/convolution.hpp"

namespace nereus::worker {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// What a convolution needs besides its inputs. The pass outlives every backward pass of its graph.
struct ConvolutionCall : torch::CustomClassHolder {
  at::Tensor bias, weight_gradient, bias_gradient;
  ConvolutionShape shape{};
  bool wants_input = true;
  PassContext* pass = nullptr;

  std::vector<std::int64_t> stride() const { return {shape.stride, shape.stride}; }
  std::vector<std::int64_t> padding() const { return {shape.pad_height, shape.pad_width}; }
};
using ConvolutionCallPtr = c10::intrusive_ptr<ConvolutionCall>;

constexpr std::int64_t kOne[] = {1, 1};
constexpr std::int64_t kNone[] = {0, 0};

struct ConvolutionFunction : Function<ConvolutionFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const ConvolutionCallPtr& call) {
    context->save_for_backward({x, weight});
    context->saved_data["call"] = c10::IValue::make_capsule(call);
    return at::convolution(x, weight, call->bias, call->stride(), call->padding(), kOne, false,
                           kNone, call->shape.groups);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const ConvolutionCallPtr call = c10::static_intrusive_pointer_cast<ConvolutionCall>(
        context->saved_data["call"].toCapsule());
    const at::Tensor x = saved[0], weight = saved[1], gy = gradients[0];
    const auto half = [=](bool input, bool own) {
      return at::convolution_backward(gy, x, weight, at::OptionalIntArrayRef(), call->stride(),
                                      call->padding(), kOne, false, kNone, call->shape.groups,
                                      {input, own, false});
    };
    const auto add = [=](const at::Tensor& weight_gradient) {
      const at::NoGradGuard no_grad;
      call->weight_gradient.add_(weight_gradient);
      if (call->bias_gradient.defined()) call->bias_gradient.add_(gy.sum({0, 2, 3}));
    };
    if (call->pass->defer_weights) {
      call->pass->deferred.push_back([=] { add(std::get<1>(half(false, true))); });
      return {call->wants_input ? std::get<0>(half(true, false)) : at::Tensor(), {}, {}};
    }
    const auto both = half(call->wants_input, true);
    add(std::get<1>(both));
    return {std::get<0>(both), {}, {}};
  }
};

}  // namespace

at::Tensor convolution(const at::Tensor& x, const Weights& weights, int weight, int bias,
                       const ConvolutionShape& shape, PassContext& pass) {
  const ConvolutionCallPtr call = c10::make_intrusive<ConvolutionCall>();
  const auto place = [](const std::vector<at::Tensor>& list, int at) {
    return at < 0 ? at::Tensor() : list[at];
  };
  call->bias = place(weights.values, bias);
  call->weight_gradient = place(weights.gradients, weight);
  call->bias_gradient = place(weights.gradients, bias);
  call->shape = shape;
  call->wants_input = x.requires_grad();
  call->pass = &pass;
  return ConvolutionFunction::apply(x, place(weights.values, weight), call);
}

}  // namespace nereus::worker
