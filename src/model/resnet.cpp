// ResNet in torchvision's layout: the stride is in the 3x3 convolution of a bottleneck, and the
// shortcut is a 1x1 convolution if the size changes. Without batch norm all norms are removed, and
// convolutions still have no bias.
#include <fmt/format.h>

#include <array>

#include "model/cnn_builder.hpp"

namespace nereus::model {

namespace {

using Blocks = std::array<int, 4>;  // blocks of the four stages

// 10, 12 and 16 are not torchvision's: basic blocks as in the depth sweep of Stash (Sharma 2023).
Blocks blocks_of(int depth) {
  switch (depth) {
    case 10:
      return {1, 1, 1, 1};
    case 12:
      return {1, 1, 1, 2};
    case 16:
      return {1, 2, 2, 2};
    case 18:
      return {2, 2, 2, 2};
    case 101:
      return {3, 4, 23, 3};
    case 152:
      return {3, 8, 36, 3};
    default:
      return {3, 4, 6, 3};  // 34 and 50
  }
}

constexpr ConvOptions kNoRelu{.bias = false, .relu = false};

// One block: `at` is "layer1.0.", and conv1 goes with bn1.
struct Block {
  std::string at;
  int channels = 0;
  int stride = 1;
  bool norm = true;

  ConvNames names(int number) const {
    return {fmt::format("{}conv{}", at, number), norm ? fmt::format("{}bn{}", at, number) : ""};
  }
};

Feature shortcut(CnnBuilder& net, const Feature& x, const Block& block, int channels) {
  if (block.stride == 1 && x.image.channels == channels) return x;
  return net.conv(x, {block.at + "downsample.0", block.norm ? block.at + "downsample.1" : ""},
                  channels, square(1, block.stride), kNoRelu);
}

Feature basic_block(CnnBuilder& net, const Feature& x, const Block& block) {
  Feature y = net.conv(x, block.names(1), block.channels, square(3, block.stride, 1));
  y = net.conv(y, block.names(2), block.channels, square(3, 1, 1), kNoRelu);
  return net.add_relu(y, shortcut(net, x, block, block.channels));
}

Feature bottleneck(CnnBuilder& net, const Feature& x, const Block& block, int width) {
  const int out = block.channels * 4;
  Feature y = net.conv(x, block.names(1), block.channels * width, square(1));
  y = net.conv(y, block.names(2), block.channels * width, square(3, block.stride, 1));
  y = net.conv(y, block.names(3), out, square(1), kNoRelu);
  return net.add_relu(y, shortcut(net, x, block, out));
}

}  // namespace

void build_resnet(CnnBuilder& net, const CnnShape& shape) {
  int channels = shape.channels;
  Feature x =
      net.conv(net.sample(), {"conv1", shape.batch_norm ? "bn1" : ""}, channels, square(7, 2, 3));
  x = net.max_pool(x, square(3, 2, 1));
  const Blocks blocks = blocks_of(shape.depth);
  for (size_t stage = 0; stage < blocks.size(); ++stage) {
    for (int i = 0; i < blocks[stage]; ++i) {
      const Block block{fmt::format("layer{}.{}.", stage + 1, i), channels,
                        stage > 0 && i == 0 ? 2 : 1, shape.batch_norm};
      x = shape.depth < 50 ? basic_block(net, x, block) : bottleneck(net, x, block, shape.width);
    }
    channels *= 2;
  }
  net.head({{net.adaptive_pool(x, 1), "fc"}}, false);
}

}  // namespace nereus::model
