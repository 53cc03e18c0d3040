// Convolutional networks from the recipe of their graphs (model/cnn_recipe.hpp), with torchvision's
// names, layouts and starting values:
//
//   ResNet      convolutions: normal, deviation sqrt(2 / (out h w)) (He 2015, 1502.01852, fan out);
//               classifier: uniform within 1 / sqrt(in), like torch's Linear
//   VGG         convolutions as above, biases 0; dense layers: normal, deviation 0.01, biases 0
//   Inception   all: normal, deviation 0.1 (the auxiliary classifier 0.001); torchvision truncates
//               it at 2, which is 20 deviations and never happens
//   AlexNet, ShuffleNet   torch's default: uniform within 1 / sqrt(fan in), also biases
//   SqueezeNet  uniform within sqrt(6 / fan in), the classifier normal, deviation 0.01; biases 0
//   MobileNet   convolutions as ResNet; classifier normal, deviation 0.01, bias 0
//
// Norms start with weights 1 and biases 0.
#include <algorithm>
#include <cmath>

#include "worker/models/models.hpp"
#include "worker/ops/batch_norm.hpp"
#include "worker/ops/convolution.hpp"
#include "worker/ops/linear.hpp"
#include "worker/ops/team.hpp"

namespace nereus::worker {

namespace {

using model::CnnLayer;
using Kind = CnnLayer::Kind;

constexpr double kInceptionDeviation = 0.1, kAuxiliaryDeviation = 0.001, kDenseDeviation = 0.01;

// For the weight, then for the bias.
std::pair<Init, Init> conv_init(const model::CnnShape& shape, const CnnLayer& layer) {
  const double window = static_cast<double>(layer.window.height) * layer.window.width;
  const double fan_in = window * layer.in.channels / layer.groups;
  if (shape.family == "inception") return {{Init::kNormal, kInceptionDeviation}, {Init::kZero}};
  if (shape.family == "alexnet" || shape.family == "shufflenet") {
    const Init as_torch{Init::kUniform, 1 / std::sqrt(fan_in)};
    return {as_torch, as_torch};
  }
  if (shape.family == "squeezenet" && layer.name.starts_with("classifier"))
    return {{Init::kNormal, kDenseDeviation}, {Init::kZero}};
  if (shape.family == "squeezenet") return {{Init::kUniform, std::sqrt(6 / fan_in)}, {Init::kZero}};
  const double fan_out = window * layer.num_outputs;
  return {{Init::kNormal, std::sqrt(2 / fan_out)}, {Init::kZero}};
}

// For the weight, then for the bias.
std::pair<Init, Init> dense_init(const model::CnnShape& shape, const CnnLayer& layer) {
  if (shape.family == "vgg" || shape.family == "mobilenet")
    return {{Init::kNormal, kDenseDeviation}, {Init::kZero}};
  const Init as_torch{Init::kUniform, 1 / std::sqrt(layer.in.elements())};
  if (shape.family != "inception") return {as_torch, as_torch};
  const bool auxiliary = layer.name.starts_with("AuxLogits");
  return {{Init::kNormal, auxiliary ? kAuxiliaryDeviation : kInceptionDeviation}, as_torch};
}

std::vector<Parameter> with_inits(const CnnLayer& layer, const std::vector<Init>& inits) {
  std::vector<Parameter> parameters;
  const std::vector<model::CnnTensor> tensors = model::parameters_of(layer);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    parameters.push_back({tensors[i].name, tensors[i].shape, {}, inits[i]});
  return parameters;
}

class Convolution : public Layer {
 public:
  Convolution(const model::CnnShape& shape, CnnLayer layer)
      : layer_(std::move(layer)),
        init_(conv_init(shape, layer_)),
        constants_(model::norm_constants(shape)) {}

  std::vector<Parameter> parameters() const override {
    std::vector<Init> inits{init_.first};
    if (layer_.bias) inits.push_back(init_.second);
    inits.push_back({Init::kOne});
    inits.push_back({Init::kZero});
    return with_inits(layer_, inits);
  }

  std::optional<NormOf> norm() const override {
    if (layer_.norm.empty()) return std::nullopt;
    return NormOf{layer_.norm, layer_.num_outputs, constants_.momentum};
  }

  at::Tensor forward(const std::vector<at::Tensor>& in, const Weights& w,
                     PassContext& pass) const override {
    at::Tensor x = in.empty() ? pass.batch.inputs : in[0];
    if (layer_.second_half)
      x = x.narrow(1, x.size(1) - layer_.in.channels, layer_.in.channels).contiguous();
    if (layer_.dropout_before) x = drop(x.flatten(1).unsqueeze(1), index, 0, pass).view(x.sizes());
    const model::Window& window = layer_.window;
    at::Tensor y =
        convolution(x, w, 0, layer_.bias ? 1 : -1,
                    {window.stride, window.pad_height, window.pad_width, layer_.groups}, pass);
    if (!layer_.norm.empty()) y = batch_norm(y, w, layer_.bias ? 2 : 1, constants_, pass);
    if (layer_.relu6) return at::hardtanh_(y, 0, 6);
    return layer_.relu ? at::relu_(y) : y;
  }

 private:
  CnnLayer layer_;
  std::pair<Init, Init> init_;
  model::NormConstants constants_;
};

class Pool : public Layer {
 public:
  explicit Pool(const CnnLayer& layer) : layer_(layer) {}

  at::Tensor forward(const std::vector<at::Tensor>& in, const Weights&,
                     PassContext&) const override {
    const model::Window& w = layer_.window;
    if (layer_.kind == Kind::kAdaptivePool)
      return at::adaptive_avg_pool2d(in[0], {layer_.out.height, layer_.out.width});
    if (layer_.kind == Kind::kMaxPool)
      return at::max_pool2d(in[0], {w.height, w.width}, {w.stride, w.stride},
                            {w.pad_height, w.pad_width}, {1, 1}, layer_.ceil);
    return at::avg_pool2d(in[0], {w.height, w.width}, {w.stride, w.stride},
                          {w.pad_height, w.pad_width});
  }

 private:
  CnnLayer layer_;
};

class AddRelu : public Layer {
 public:
  at::Tensor forward(const std::vector<at::Tensor>& in, const Weights&,
                     PassContext&) const override {
    at::Tensor sum = in[0] + in[1];
    return at::relu_(sum);
  }
};

class Add : public Layer {
 public:
  at::Tensor forward(const std::vector<at::Tensor>& in, const Weights&,
                     PassContext&) const override {
    return in[0] + in[1];
  }
};

class Shuffle : public Layer {
 public:
  at::Tensor forward(const std::vector<at::Tensor>& in, const Weights&,
                     PassContext&) const override {
    const at::Tensor& y = in[1];
    const std::int64_t half = y.size(1);
    return at::stack({in[0].narrow(1, 0, half), y}, 2).flatten(1, 2);
  }
};

class Concat : public Layer {
 public:
  at::Tensor forward(const std::vector<at::Tensor>& in, const Weights&,
                     PassContext&) const override {
    return at::cat(in, 1);
  }
};

at::Tensor class_loss(const at::Tensor& logits, PassContext& pass) {
  return cross_entropy(logits, pass.batch.targets, {0, logits.size(-1)}, pass);
}

// Dense layers and classifiers; with `loss` if it is the last layer.
class Dense : public Layer {
 public:
  Dense(const model::CnnShape& shape, const CnnLayer& layer, bool loss)
      : layer_(layer), inits_(dense_init(shape, layer)), loss_(loss) {}

  std::vector<Parameter> parameters() const override {
    return with_inits(layer_, {inits_.first, inits_.second});
  }

  at::Tensor forward(const std::vector<at::Tensor>& in, const Weights& w,
                     PassContext& pass) const override {
    at::Tensor x = in[0].flatten(1);
    if (layer_.kind == Kind::kClassifier && layer_.dropout) x = dropped(x, 0, pass);
    if (layer_.dropout_before) x = dropped(x, 1, pass);
    x = linear(x, w, 0, 1, WeightLayout::kOutIn, pass);
    if (layer_.relu) x = at::relu(x);  // linear's output is a view, which may not change in place
    if (layer_.kind == Kind::kDense && layer_.dropout) x = dropped(x, 0, pass);
    return loss_ ? class_loss(x, pass) : x;
  }

 private:
  at::Tensor dropped(const at::Tensor& x, int site, const PassContext& pass) const {
    return drop(x.unsqueeze(1), index, site, pass).squeeze(1);
  }

  CnnLayer layer_;
  std::pair<Init, Init> inits_;
  bool loss_;
};

class Loss : public Layer {
 public:
  at::Tensor forward(const std::vector<at::Tensor>& in, const Weights&,
                     PassContext& pass) const override {
    at::Tensor loss = class_loss(in[0].flatten(1), pass);
    for (std::size_t i = 1; i < in.size(); ++i)
      loss = loss + model::kAuxiliaryLoss * class_loss(in[i], pass);
    return loss;
  }
};

std::unique_ptr<Layer> make_layer(const model::CnnShape& shape, const CnnLayer& layer, bool last) {
  switch (layer.kind) {
    case Kind::kConv:
      return std::make_unique<Convolution>(shape, layer);
    case Kind::kMaxPool:
    case Kind::kAveragePool:
    case Kind::kAdaptivePool:
      return std::make_unique<Pool>(layer);
    case Kind::kAddRelu:
      return std::make_unique<AddRelu>();
    case Kind::kAdd:
      return std::make_unique<Add>();
    case Kind::kShuffle:
      return std::make_unique<Shuffle>();
    case Kind::kConcat:
      return std::make_unique<Concat>();
    case Kind::kDense:
    case Kind::kClassifier:
      return std::make_unique<Dense>(shape, layer, last);
    case Kind::kLoss:
      return std::make_unique<Loss>();
  }
  return nullptr;
}

// Shape of one sample. Outputs of dense layers have no height and width.
std::vector<std::int64_t> shape_of(const CnnLayer& layer, bool last) {
  if (last) return {};
  if (layer.kind == Kind::kDense || layer.kind == Kind::kClassifier) return {layer.num_outputs};
  return {layer.out.channels, layer.out.height, layer.out.width};
}

}  // namespace

Layers build_cnn_layers(const model::CnnShape& shape) {
  Layers layers;
  const std::vector<CnnLayer> recipe = model::cnn_recipe(shape);
  for (const CnnLayer& layer : recipe) {
    const bool last = layers.size() + 1 == recipe.size();
    layers.push_back(make_layer(shape, layer, last));
    layers.back()->inputs = layer.inputs;
    layers.back()->output_shape = shape_of(layer, last);
  }
  return layers;
}

}  // namespace nereus::worker
