// MobileNet v2 in torchvision's layout: inverted residuals expand, filter each channel separately,
// and project without activation; if size and channels are unchanged, the input is added.
#include <fmt/format.h>

#include "model/cnn_builder.hpp"

namespace nereus::model {

namespace {

constexpr ConvOptions kRelu6{.relu = false, .relu6 = true};
constexpr ConvOptions kDepthwise{.relu = false, .relu6 = true, .groups = 0};
constexpr ConvOptions kLinear{.relu = false};

// Blocks of `width` channels (as published, for 64), the first with `stride`.
struct Stage {
  int expand;
  int width;
  int blocks;
  int stride;
};

Feature inverted_residual(CnnBuilder& net, const Feature& x, int place, int expand, int channels,
                          int stride) {
  int part = 0;
  const auto pair = [&] {  // a convolution and its norm in a module of their own
    const std::string at = fmt::format("features.{}.conv.{}.", place, part++);
    return ConvNames{at + "0", at + "1"};
  };
  Feature y = x;
  const int inner = x.image.channels * expand;
  if (expand > 1) y = net.conv(y, pair(), inner, square(1), kRelu6);
  y = net.conv(y, pair(), inner, square(3, stride, 1), kDepthwise);
  const ConvNames last{fmt::format("features.{}.conv.{}", place, part),
                       fmt::format("features.{}.conv.{}", place, part + 1)};
  y = net.conv(y, last, channels, square(1), kLinear);
  return stride == 1 && x.image.channels == channels ? net.add(y, x) : y;
}

}  // namespace

void build_mobilenet(CnnBuilder& net, const CnnShape& shape) {
  constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                               {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  const auto width = [&](int published) { return published * shape.channels / kResnetChannels; };
  Feature x =
      net.conv(net.sample(), {"features.0.0", "features.0.1"}, width(32), square(3, 2, 1), kRelu6);
  int place = 1;
  for (const Stage& stage : kStages)
    for (int i = 0; i < stage.blocks; ++i)
      x = inverted_residual(net, x, place++, stage.expand, width(stage.width),
                            i == 0 ? stage.stride : 1);
  x = net.conv(x, {"features.18.0", "features.18.1"}, width(1280), square(1), kRelu6);
  net.head({{net.adaptive_pool(x, 1), "classifier.1"}}, true);
}

}  // namespace nereus::model
