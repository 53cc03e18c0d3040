// ShuffleNet v2 x0.5 in torchvision's layout: a unit passes half of its channels on, computes on
// the other half, then shuffles both; the first unit of a stage computes on all of them twice.
#include <fmt/format.h>

#include "model/cnn_builder.hpp"

namespace nereus::model {

namespace {

constexpr ConvOptions kRelu{};
constexpr ConvOptions kDepthwise{.relu = false, .groups = 0};

struct Unit {
  std::string at;  // "stage2.0."
  int half;        // channels of each of its two outputs
  int stride;

  ConvNames names(int branch, int place) const {
    return {fmt::format("{}branch{}.{}", at, branch, place),
            fmt::format("{}branch{}.{}", at, branch, place + 1)};
  }
};

Feature second_branch(CnnBuilder& net, const Feature& x, const Unit& unit) {
  ConvOptions first = kRelu;
  first.second_half = unit.stride == 1;
  Feature y = net.conv(x, unit.names(2, 0), unit.half, square(1), first);
  y = net.conv(y, unit.names(2, 3), unit.half, square(3, unit.stride, 1), kDepthwise);
  return net.conv(y, unit.names(2, 5), unit.half, square(1), kRelu);
}

Feature run(CnnBuilder& net, const Feature& x, const Unit& unit) {
  if (unit.stride == 1) return net.shuffle(x, second_branch(net, x, unit));
  Feature y = net.conv(x, unit.names(1, 0), x.image.channels, square(3, 2, 1), kDepthwise);
  y = net.conv(y, unit.names(1, 2), unit.half, square(1), kRelu);
  return net.shuffle(y, second_branch(net, x, unit));
}

}  // namespace

void build_shufflenet(CnnBuilder& net, const CnnShape& shape) {
  struct Stage {
    int width;  // as published, for 64 channels
    int units;
  };
  constexpr Stage kStages[] = {{48, 4}, {96, 8}, {192, 4}};
  const auto width = [&](int published) { return published * shape.channels / kResnetChannels; };
  Feature x = net.conv(net.sample(), {"conv1.0", "conv1.1"}, width(24), square(3, 2, 1), kRelu);
  x = net.max_pool(x, square(3, 2, 1));
  int number = 2;
  for (const Stage& stage : kStages) {
    for (int i = 0; i < stage.units; ++i)
      x = run(net, x,
              {fmt::format("stage{}.{}.", number, i), width(stage.width) / 2, i == 0 ? 2 : 1});
    ++number;
  }
  x = net.conv(x, {"conv5.0", "conv5.1"}, width(1024), square(1), kRelu);
  net.head({{net.adaptive_pool(x, 1), "fc"}}, false);
}

}  // namespace nereus::model
