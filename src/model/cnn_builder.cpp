#include "model/cnn_builder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace nereus::model {

namespace {

std::string size_text(const Image& x) {
  return fmt::format("{}x{}x{}", x.channels, x.height, x.width);
}

// In place, so what is kept for backward is its result.
Operator relu_op(double rows, double features) {
  Operator op = elementwise("relu", rows, features, 1);
  op.saved_elements = rows * features;
  return op;
}

Operator dropout_op(double features) {
  Operator op = elementwise("dropout", 1, features, 1);
  op.saved_elements = features;
  op.saved_bytes = features;  // a byte of mask each
  return op;
}

}  // namespace

Feature CnnBuilder::add(LayerKind kind, CnnLayer what, const std::vector<Feature>& inputs,
                        const Image& out) {
  kind.output_elements = out.elements();
  what.in = inputs.front().image;
  what.out = out;
  std::vector<GraphInput> from;
  for (const Feature& input : inputs) {
    what.inputs.push_back(input.layer);
    if (input.layer >= 0) {
      from.push_back({input.layer, input.image.elements()});
    } else {
      kind.input_elements = input.image.elements();
      kind.operators.front().saved_elements += input.image.elements();  // nobody produced it
    }
  }
  recipe_.push_back(std::move(what));
  return {graph_.add(std::move(kind), from), out};
}

Feature CnnBuilder::conv(const Feature& x, const ConvNames& names, int channels,
                         const Window& window, ConvOptions options) {
  const Image out = slide(x.image, window, channels);
  NEREUS_CHECK(out.height > 0 && out.width > 0, "resolve() refuses images that are too small");
  LayerKind kind;
  kind.name =
      fmt::format("conv{}x{}{} {} -> {}{}{}", window.height, window.width,
                  window.stride > 1 ? fmt::format("/{}", window.stride) : "", size_text(x.image),
                  size_text(out), !names.norm.empty() ? " norm" : "", options.relu ? " relu" : "");
  kind.operators.push_back(convolution("conv", x.image, out, window, 1, options.bias));
  if (!names.norm.empty()) kind.operators.push_back(batch_norm(out));
  if (options.relu) kind.operators.push_back(relu_op(out.positions(), out.channels));
  CnnLayer what{.kind = CnnLayer::Kind::kConv, .window = window};
  what.num_outputs = channels;
  what.bias = options.bias;
  what.relu = options.relu;
  what.name = names.conv;
  what.norm = names.norm;
  return add(std::move(kind), std::move(what), {x}, out);
}

Feature CnnBuilder::pool_layer(const char* name, CnnLayer::Kind what, const Feature& x,
                               const Image& out, const Window& window) {
  NEREUS_CHECK(out.height > 0 && out.width > 0, "resolve() refuses images that are too small");
  LayerKind kind;
  kind.role = LayerRole::kOther;
  kind.name = fmt::format("{}{}x{} {} -> {}", name, window.height, window.width, size_text(x.image),
                          size_text(out));
  kind.operators.push_back(pool(name, x.image, out, window));
  const bool keeps_index = what == CnnLayer::Kind::kMaxPool;
  if (keeps_index) kind.operators.back().saved_bytes = 8 * out.elements();
  return add(std::move(kind), {.kind = what, .window = window}, {x}, out);
}

Feature CnnBuilder::max_pool(const Feature& x, const Window& window) {
  return pool_layer("max_pool", CnnLayer::Kind::kMaxPool, x,
                    slide(x.image, window, x.image.channels), window);
}

Feature CnnBuilder::average_pool(const Feature& x, const Window& window) {
  return pool_layer("average_pool", CnnLayer::Kind::kAveragePool, x,
                    slide(x.image, window, x.image.channels), window);
}

Feature CnnBuilder::adaptive_pool(const Feature& x, int size) {
  const auto window = [&](int in) { return std::max(1, (in + size - 1) / size); };
  return pool_layer("adaptive_pool", CnnLayer::Kind::kAdaptivePool, x,
                    {x.image.channels, size, size},
                    {window(x.image.height), window(x.image.width), 1, 0, 0});
}

Feature CnnBuilder::add_relu(const Feature& x, const Feature& shortcut) {
  LayerKind kind;
  kind.role = LayerRole::kOther;
  kind.name = fmt::format("add {} relu", size_text(x.image));
  kind.operators.push_back(elementwise("add", x.image.positions(), x.image.channels, 2));
  kind.operators.push_back(relu_op(x.image.positions(), x.image.channels));
  return add(std::move(kind), {.kind = CnnLayer::Kind::kAddRelu}, {x, shortcut}, x.image);
}

Feature CnnBuilder::concat(const std::vector<Feature>& parts) {
  Image out = parts.front().image;
  out.channels = 0;
  for (const Feature& part : parts) out.channels += part.image.channels;
  LayerKind kind;
  kind.role = LayerRole::kOther;
  kind.name = "concat";
  for (const Feature& part : parts) kind.name += fmt::format(" {}", part.image.channels);
  kind.name += fmt::format(" -> {}", size_text(out));
  Operator op = elementwise("concat", out.positions(), out.channels, 1);
  op.flops = 0;
  op.saved_elements = out.elements();
  kind.operators.push_back(op);
  return add(std::move(kind), {.kind = CnnLayer::Kind::kConcat}, parts, out);
}

Feature CnnBuilder::dense(const Feature& x, const std::string& name, int features, bool relu,
                          bool dropout) {
  const Image out{features, 1, 1};
  LayerKind kind;
  kind.name = fmt::format("dense {} -> {}{}{}", x.image.elements(), features, relu ? " relu" : "",
                          dropout ? " dropout" : "");
  kind.operators.push_back(linear("dense", 1, features, x.image.elements(), true));
  if (relu) kind.operators.push_back(relu_op(1, features));
  if (dropout) kind.operators.push_back(dropout_op(features));
  CnnLayer what{.kind = CnnLayer::Kind::kDense};
  what.num_outputs = features;
  what.bias = true;
  what.relu = relu;
  what.dropout = dropout;
  what.name = name;
  return add(std::move(kind), std::move(what), {x}, out);
}

void CnnBuilder::head(const std::vector<ClassifierInput>& inputs, bool dropout) {
  const int classes = shape_.classes;
  std::vector<Feature> logits;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Feature& x = inputs[i].feature;
    const bool drop = dropout && i == 0;
    LayerKind kind;
    kind.role = LayerRole::kHead;
    kind.name =
        fmt::format("classifier {} -> {}{}", x.image.elements(), classes, drop ? " dropout" : "");
    if (drop) kind.operators.push_back(dropout_op(x.image.elements()));
    kind.operators.push_back(linear("dense", 1, classes, x.image.elements(), true));
    const bool last = inputs.size() == 1;
    if (last) kind.operators.push_back(cross_entropy(1, classes));
    CnnLayer what{.kind = CnnLayer::Kind::kClassifier};
    what.num_outputs = classes;
    what.bias = true;
    what.dropout = drop;
    what.name = inputs[i].name;
    logits.push_back(
        add(std::move(kind), std::move(what), {x}, last ? Image{} : Image{classes, 1, 1}));
  }
  if (inputs.size() == 1) return;
  LayerKind kind;
  kind.role = LayerRole::kHead;
  kind.name = fmt::format("loss over {} heads", inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) kind.operators.push_back(cross_entropy(1, classes));
  add(std::move(kind), {.kind = CnnLayer::Kind::kLoss}, logits, Image{});
}

Model CnnBuilder::finish() {
  Model model = graph_.finish();
  model.name = shape_.name;
  model.family = shape_.family;
  model.cnn = shape_;
  return model;
}

}  // namespace nereus::model
