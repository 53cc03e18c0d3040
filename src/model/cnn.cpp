#include "model/cnn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "model/cnn_builder.hpp"

namespace nereus::model {

namespace {

struct Family {
  std::string_view name;
  std::vector<int> depths;
  int image;           // default
  int smallest_image;  // below it some layer would have no output
  int smallest_with_aux;
  int channel_step = 1;      // of `channels`, that keeps all widths whole
  bool always_norm = false;  // cannot be without batch norm
};

const std::vector<Family>& families() {
  static const std::vector<Family> kList = {
      {"resnet", {10, 12, 16, 18, 34, 50, 101, 152}, 224, 1, 1},
      {"vgg", {11, 13, 16, 19}, 224, 32, 32},
      {"inception", {3}, 299, 75, 299, 4, true},
      {"alexnet", {8}, 224, 63, 63},
      {"squeezenet", {26}, 224, 21, 21, 4},
      {"mobilenet", {53}, 224, 1, 1, 8, true},
      {"shufflenet", {57}, 224, 1, 1, 8, true},
  };
  return kList;
}

}  // namespace

CnnShape resolve(CnnShape shape) {
  ErrorList errors;
  const auto family = std::find_if(families().begin(), families().end(),
                                   [&](const Family& f) { return f.name == shape.family; });
  if (family == families().end()) {
    throw_input_error("model.family",
                      fmt::format("'{}' is not a convolutional family", shape.family), {},
                      "resnet, vgg, inception, alexnet, squeezenet, mobilenet or shufflenet");
  }
  if (family->depths.size() == 1 && shape.depth == 0) shape.depth = family->depths.front();
  if (shape.image == 0) shape.image = family->image;
  const auto& depths = family->depths;
  if (std::find(depths.begin(), depths.end(), shape.depth) == depths.end()) {
    errors.add("model.depth", fmt::format("{} has no depth {}", shape.family, shape.depth), {},
               fmt::format("{}", fmt::join(depths, ", ")));
  }
  const int smallest = shape.aux_head ? family->smallest_with_aux : family->smallest_image;
  constexpr int kLargestImage = 16384;
  if (shape.image < smallest || shape.image > kLargestImage) {
    errors.add("model.image", fmt::format("image = {} must lie in {} .. {} for {}{}", shape.image,
                                          smallest, kLargestImage, shape.family,
                                          shape.aux_head ? " with its auxiliary head" : ""));
  }
  constexpr int kMostClasses = 10'000'000;
  if (shape.classes < 1 || shape.classes > kMostClasses)
    errors.add("model.classes",
               fmt::format("classes = {} must lie in 1 .. {}", shape.classes, kMostClasses));
  const bool bottleneck = shape.family == "resnet" && shape.depth >= 50;
  constexpr int kWidest = 256;
  if (shape.width < 1 || shape.width > kWidest || (shape.width > 1 && !bottleneck)) {
    errors.add(
        "model.width",
        fmt::format(
            "width = {} must lie in 1 .. {}, and only resnet from depth 50 on can be widened",
            shape.width, kWidest));
  }
  constexpr int kMostChannels = 4096;
  const int step = family->channel_step;
  if (shape.channels < 1 || shape.channels > kMostChannels || shape.channels % step != 0)
    errors.add("model.channels",
               fmt::format("channels = {} of {} must lie in {} .. {}{}", shape.channels,
                           shape.family, step, kMostChannels,
                           step > 1 ? fmt::format(" and be a multiple of {}", step) : ""),
               {}, fmt::format("{}", kResnetChannels));
  if (!shape.batch_norm && family->always_norm)
    errors.add("model.batch-norm", fmt::format("{} cannot be without batch norm", shape.family), {},
               "batch_norm = true, or family = \"resnet\" or \"vgg\"");
  if (shape.aux_head && shape.family != "inception")
    errors.add("model.aux-head", fmt::format("{} has no auxiliary head", shape.family), {},
               "aux_head = false");
  errors.throw_if_any();
  return shape;
}

void build_family(CnnBuilder& net, const CnnShape& shape) {
  if (shape.family == "resnet") build_resnet(net, shape);
  if (shape.family == "vgg") build_vgg(net, shape);
  if (shape.family == "inception") build_inception(net, shape);
  if (shape.family == "alexnet") build_alexnet(net, shape);
  if (shape.family == "squeezenet") build_squeezenet(net, shape);
  if (shape.family == "mobilenet") build_mobilenet(net, shape);
  if (shape.family == "shufflenet") build_shufflenet(net, shape);
}

Model build_cnn(const CnnShape& given) {
  const CnnShape shape = resolve(given);
  CnnBuilder net(shape);
  build_family(net, shape);
  return net.finish();
}

std::vector<CnnLayer> cnn_recipe(const CnnShape& given) {
  const CnnShape shape = resolve(given);
  CnnBuilder net(shape);
  build_family(net, shape);
  return net.recipe();
}

std::vector<CnnTensor> parameters_of(const CnnLayer& layer) {
  std::vector<CnnTensor> tensors;
  if (layer.name.empty()) return tensors;
  const std::int64_t out = layer.num_outputs;
  std::vector<std::int64_t> shape = {out, static_cast<std::int64_t>(layer.in.elements())};
  if (layer.kind == CnnLayer::Kind::kConv)
    shape = {out, layer.in.channels / layer.groups, layer.window.height, layer.window.width};
  tensors.push_back({layer.name + ".weight", shape});
  if (layer.bias) tensors.push_back({layer.name + ".bias", {out}});
  if (!layer.norm.empty()) {
    tensors.push_back({layer.norm + ".weight", {out}});
    tensors.push_back({layer.norm + ".bias", {out}});
  }
  return tensors;
}

NormConstants norm_constants(const CnnShape& shape) {
  return {.epsilon = shape.family == "inception" ? 1e-3 : 1e-5};
}

}  // namespace nereus::model
