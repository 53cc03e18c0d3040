// ResNet as torchvision lays it out: the stride sits in the 3x3 convolution of a bottleneck, the
// shortcut is a 1x1 convolution where the size changes.
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

constexpr ConvOptions kNoRelu{.bias = false, .norm = true, .relu = false};

Feature shortcut(CnnBuilder& net, const Feature& x, int channels, int stride) {
  if (stride == 1 && x.image.channels == channels) return x;
  return net.conv(x, channels, square(1, stride), kNoRelu);
}

Feature basic_block(CnnBuilder& net, const Feature& x, int channels, int stride) {
  Feature y = net.conv(x, channels, square(3, stride, 1));
  y = net.conv(y, channels, square(3, 1, 1), kNoRelu);
  return net.add_relu(y, shortcut(net, x, channels, stride));
}

Feature bottleneck(CnnBuilder& net, const Feature& x, int channels, int stride, int width) {
  Feature y = net.conv(x, channels * width, square(1));
  y = net.conv(y, channels * width, square(3, stride, 1));
  y = net.conv(y, channels * 4, square(1), kNoRelu);
  return net.add_relu(y, shortcut(net, x, channels * 4, stride));
}

}  // namespace

void build_resnet(CnnBuilder& net, const CnnShape& shape) {
  Feature x = net.conv(net.sample(), 64, square(7, 2, 3));
  x = net.max_pool(x, square(3, 2, 1));
  int channels = 64;
  const Blocks blocks = blocks_of(shape.depth);
  for (size_t stage = 0; stage < blocks.size(); ++stage) {
    for (int i = 0; i < blocks[stage]; ++i) {
      const int stride = stage > 0 && i == 0 ? 2 : 1;
      x = shape.depth < 50 ? basic_block(net, x, channels, stride)
                           : bottleneck(net, x, channels, stride, shape.width);
    }
    channels *= 2;
  }
  net.head({net.adaptive_pool(x, 1)}, false);
}

}  // namespace nereus::model
