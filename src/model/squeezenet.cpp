// SqueezeNet 1.0 in torchvision's layout: fire modules squeeze to few channels, then expand with
// 1x1 and 3x3 convolutions in parallel; the classifier is a convolution followed by an average.
#include <fmt/format.h>

#include "model/cnn_builder.hpp"

namespace nereus::model {

namespace {

constexpr ConvOptions kBias{.bias = true};

// Widths as published, for 64 channels; both expansions have the same.
struct Fire {
  int place;
  int squeeze;
  int expand;
};

Feature fire(CnnBuilder& net, const Feature& x, const Fire& own, int channels) {
  const auto width = [&](int published) { return published * channels / kResnetChannels; };
  const auto name = [&](const char* part) {
    return ConvNames{fmt::format("features.{}.{}", own.place, part)};
  };
  const Feature y = net.conv(x, name("squeeze"), width(own.squeeze), square(1), kBias);
  const Feature one = net.conv(y, name("expand1x1"), width(own.expand), square(1), kBias);
  return net.concat(
      {one, net.conv(y, name("expand3x3"), width(own.expand), square(3, 1, 1), kBias)});
}

}  // namespace

void build_squeezenet(CnnBuilder& net, const CnnShape& shape) {
  constexpr Fire kFires[] = {{3, 16, 64},  {4, 16, 64},  {5, 32, 128},  {7, 32, 128},
                             {8, 48, 192}, {9, 48, 192}, {10, 64, 256}, {12, 64, 256}};
  Feature x = net.conv(net.sample(), {"features.0"}, 96 * shape.channels / kResnetChannels,
                       square(7, 2), kBias);
  x = net.max_pool(x, square(3, 2), true);
  for (const Fire& own : kFires) {
    x = fire(net, x, own, shape.channels);
    if (own.place == 5 || own.place == 10) x = net.max_pool(x, square(3, 2), true);
  }
  x = net.conv(x, {"classifier.1"}, shape.classes, square(1),
               {.bias = true, .dropout_before = true});
  net.loss(net.adaptive_pool(x, 1));
}

}  // namespace nereus::model
