#include "model/cnn_builder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace nereus::model {

namespace {

std::string size_text(const Image& x) {
  return fmt::format("{}x{}x{}", x.channels, x.height, x.width);
}

// It runs in place, so its result is kept for backward.
Operator relu_op(double rows, double features) {
  Operator op = elementwise("relu", rows, features, 1);
  op.image = rows > 1;
  op.saved_elements = rows * features;
  return op;
}

Operator dropout_op(double features) {
  Operator op = elementwise("dropout", 1, features, 1);
  op.saved_elements = features;
  op.saved_bytes = features;  // a byte of mask each
  return op;
}

// Like slide(), but the rest at the border is a separate window if it begins inside.
Image slide_ceil(const Image& in, const Window& window) {
  const auto out = [&](int size, int width) {
    const int more = size > width ? (size - width + window.stride - 1) / window.stride : 0;
    return more * window.stride < size ? more + 1 : more;
  };
  return {in.channels, out(in.height, window.height), out(in.width, window.width)};
}

Image second_half_of(Image image) {
  image.channels -= image.channels / 2;
  return image;
}

std::string conv_name(const Image& in, const Image& out, const Window& window,
                      const ConvOptions& options, bool norm) {
  const std::string stride = window.stride > 1 ? fmt::format("/{}", window.stride) : "";
  const std::string groups = options.groups > 1 ? fmt::format(" groups {}", options.groups) : "";
  return fmt::format("{}conv{}x{}{}{} {}{} -> {}{}{}", options.dropout_before ? "dropout " : "",
                     window.height, window.width, stride, groups,
                     options.second_half ? "half " : "", size_text(in), size_text(out),
                     norm ? " norm" : "",
                     options.relu6  ? " relu6"
                     : options.relu ? " relu"
                                    : "");
}

}  // namespace

Feature CnnBuilder::add_layer(LayerKind kind, CnnLayer what, const std::vector<Feature>& inputs,
                              const Image& out) {
  kind.output_elements = out.elements();
  what.in = what.second_half ? second_half_of(inputs.front().image) : inputs.front().image;
  what.out = out;
  std::vector<GraphInput> from;
  for (const Feature& input : inputs) {
    what.inputs.push_back(input.layer);
    if (input.layer >= 0) {
      from.push_back({input.layer, input.image.elements()});
    } else {
      kind.input_elements = input.image.elements();
      kind.operators.front().saved_elements += input.image.elements();  // no layer produced it
    }
  }
  recipe_.push_back(std::move(what));
  return {graph_.add(std::move(kind), from), out};
}

Feature CnnBuilder::conv(const Feature& x, const ConvNames& names, int channels,
                         const Window& window, ConvOptions options) {
  const Image in = options.second_half ? second_half_of(x.image) : x.image;
  const Image out = slide(in, window, channels);
  NEREUS_CHECK(out.height > 0 && out.width > 0, "resolve() refuses images that are too small");
  if (options.groups == 0) options.groups = channels;
  LayerKind kind;
  kind.name = conv_name(in, out, window, options, !names.norm.empty());
  if (options.dropout_before) kind.operators.push_back(dropout_op(in.elements()));
  kind.operators.push_back(convolution("conv", in, out, window, options.groups, options.bias));
  if (!names.norm.empty()) kind.operators.push_back(batch_norm(out));
  if (options.relu || options.relu6)
    kind.operators.push_back(relu_op(out.positions(), out.channels));
  CnnLayer what{.kind = CnnLayer::Kind::kConv, .window = window};
  what.num_outputs = channels;
  what.bias = options.bias;
  what.relu = options.relu && !options.relu6;
  what.relu6 = options.relu6;
  what.dropout_before = options.dropout_before;
  what.second_half = options.second_half;
  what.groups = options.groups;
  what.name = names.conv;
  what.norm = names.norm;
  return add_layer(std::move(kind), std::move(what), {x}, out);
}

Feature CnnBuilder::pool_layer(const char* name, CnnLayer::Kind what, const Feature& x,
                               const Image& out, const Window& window, bool ceil) {
  NEREUS_CHECK(out.height > 0 && out.width > 0, "resolve() refuses images that are too small");
  LayerKind kind;
  kind.role = LayerRole::kOther;
  kind.name = fmt::format("{}{}x{}{} {} -> {}", name, window.height, window.width,
                          ceil ? " ceil" : "", size_text(x.image), size_text(out));
  kind.operators.push_back(pool(name, x.image, out, window));
  const bool keeps_index = what == CnnLayer::Kind::kMaxPool;
  if (keeps_index) kind.operators.back().saved_bytes = 8 * out.elements();
  CnnLayer pool{.kind = what, .window = window};
  pool.ceil = ceil;
  return add_layer(std::move(kind), std::move(pool), {x}, out);
}

Feature CnnBuilder::max_pool(const Feature& x, const Window& window, bool ceil) {
  return pool_layer("max_pool", CnnLayer::Kind::kMaxPool, x,
                    ceil ? slide_ceil(x.image, window) : slide(x.image, window, x.image.channels),
                    window, ceil);
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

Feature CnnBuilder::sum_layer(const Feature& x, const Feature& shortcut, bool relu) {
  LayerKind kind;
  kind.role = LayerRole::kOther;
  kind.name = fmt::format("add {}{}", size_text(x.image), relu ? " relu" : "");
  kind.operators.push_back(elementwise("add", x.image.positions(), x.image.channels, 2));
  kind.operators.back().image = true;
  if (relu)
    kind.operators.push_back(relu_op(x.image.positions(), x.image.channels));
  else
    kind.operators.back().saved_elements = x.image.elements();  // what the next layer reads
  return add_layer(std::move(kind),
                   {.kind = relu ? CnnLayer::Kind::kAddRelu : CnnLayer::Kind::kAdd}, {x, shortcut},
                   x.image);
}

Feature CnnBuilder::add_relu(const Feature& x, const Feature& shortcut) {
  return sum_layer(x, shortcut, true);
}

Feature CnnBuilder::add(const Feature& x, const Feature& shortcut) {
  return sum_layer(x, shortcut, false);
}

// One pass joins both, another sorts the channels.
Feature CnnBuilder::shuffle(const Feature& x, const Feature& y) {
  Image out = y.image;
  out.channels *= 2;
  LayerKind kind;
  kind.role = LayerRole::kOther;
  kind.name = fmt::format("shuffle {} -> {}", x.image.channels, size_text(out));
  Operator op = elementwise("shuffle", out.positions(), out.channels, 2);
  op.flops = 0;
  op.written_elements = 2 * out.elements();
  op.saved_elements = out.elements();
  op.kernels = 2;
  kind.operators.push_back(op);
  return add_layer(std::move(kind), {.kind = CnnLayer::Kind::kShuffle}, {x, y}, out);
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
  return add_layer(std::move(kind), {.kind = CnnLayer::Kind::kConcat}, parts, out);
}

Feature CnnBuilder::dense(const Feature& x, const std::string& name, int features, bool relu,
                          bool dropout, bool dropout_before) {
  const Image out{features, 1, 1};
  LayerKind kind;
  kind.name =
      fmt::format("{}dense {} -> {}{}{}", dropout_before ? "dropout " : "", x.image.elements(),
                  features, relu ? " relu" : "", dropout ? " dropout" : "");
  if (dropout_before) kind.operators.push_back(dropout_op(x.image.elements()));
  kind.operators.push_back(linear("dense", 1, features, x.image.elements(), true));
  if (relu) kind.operators.push_back(relu_op(1, features));
  if (dropout) kind.operators.push_back(dropout_op(features));
  CnnLayer what{.kind = CnnLayer::Kind::kDense};
  what.num_outputs = features;
  what.bias = true;
  what.relu = relu;
  what.dropout = dropout;
  what.dropout_before = dropout_before;
  what.name = name;
  return add_layer(std::move(kind), std::move(what), {x}, out);
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
        add_layer(std::move(kind), std::move(what), {x}, last ? Image{} : Image{classes, 1, 1}));
  }
  if (inputs.size() == 1) return;
  LayerKind kind;
  kind.role = LayerRole::kHead;
  kind.name = fmt::format("loss over {} heads", inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) kind.operators.push_back(cross_entropy(1, classes));
  add_layer(std::move(kind), {.kind = CnnLayer::Kind::kLoss}, logits, Image{});
}

void CnnBuilder::loss(const Feature& logits) {
  LayerKind kind;
  kind.role = LayerRole::kHead;
  kind.name = fmt::format("loss over {}", logits.image.channels);
  kind.operators.push_back(cross_entropy(1, logits.image.channels));
  add_layer(std::move(kind), {.kind = CnnLayer::Kind::kLoss}, {logits}, Image{});
}

Model CnnBuilder::finish() {
  Model model = graph_.finish();
  model.name = shape_.name;
  model.family = shape_.family;
  model.cnn = shape_;
  return model;
}

}  // namespace nereus::model
