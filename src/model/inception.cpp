// Inception-v3 as torchvision lays it out. Letters name the five kinds of block as there.
#include <optional>

#include "model/cnn_builder.hpp"

namespace nereus::model {

namespace {

constexpr Window kRow7{.height = 1, .width = 7, .stride = 1, .pad_height = 0, .pad_width = 3};
constexpr Window kColumn7{.height = 7, .width = 1, .stride = 1, .pad_height = 3, .pad_width = 0};
constexpr Window kRow3{.height = 1, .width = 3, .stride = 1, .pad_height = 0, .pad_width = 1};
constexpr Window kColumn3{.height = 3, .width = 1, .stride = 1, .pad_height = 1, .pad_width = 0};

Feature pooled_branch(CnnBuilder& net, const Feature& x, int channels) {
  return net.conv(net.average_pool(x, square(3, 1, 1)), channels, square(1));
}

Feature block_a(CnnBuilder& net, const Feature& x, int pool_channels) {
  const Feature a = net.conv(x, 64, square(1));
  Feature b = net.conv(x, 48, square(1));
  b = net.conv(b, 64, square(5, 1, 2));
  Feature c = net.conv(x, 64, square(1));
  c = net.conv(c, 96, square(3, 1, 1));
  c = net.conv(c, 96, square(3, 1, 1));
  return net.concat({a, b, c, pooled_branch(net, x, pool_channels)});
}

Feature block_b(CnnBuilder& net, const Feature& x) {
  const Feature a = net.conv(x, 384, square(3, 2));
  Feature b = net.conv(x, 64, square(1));
  b = net.conv(b, 96, square(3, 1, 1));
  b = net.conv(b, 96, square(3, 2));
  return net.concat({a, b, net.max_pool(x, square(3, 2))});
}

Feature block_c(CnnBuilder& net, const Feature& x, int inner) {
  const Feature a = net.conv(x, 192, square(1));
  Feature b = net.conv(x, inner, square(1));
  b = net.conv(b, inner, kRow7);
  b = net.conv(b, 192, kColumn7);
  Feature c = net.conv(x, inner, square(1));
  c = net.conv(c, inner, kColumn7);
  c = net.conv(c, inner, kRow7);
  c = net.conv(c, inner, kColumn7);
  c = net.conv(c, 192, kRow7);
  return net.concat({a, b, c, pooled_branch(net, x, 192)});
}

Feature block_d(CnnBuilder& net, const Feature& x) {
  Feature a = net.conv(x, 192, square(1));
  a = net.conv(a, 320, square(3, 2));
  Feature b = net.conv(x, 192, square(1));
  b = net.conv(b, 192, kRow7);
  b = net.conv(b, 192, kColumn7);
  b = net.conv(b, 192, square(3, 2));
  return net.concat({a, b, net.max_pool(x, square(3, 2))});
}

// A 3x3 convolution split into a row and a column side by side.
Feature fan(CnnBuilder& net, const Feature& x) {
  const Feature row = net.conv(x, 384, kRow3);
  return net.concat({row, net.conv(x, 384, kColumn3)});
}

Feature block_e(CnnBuilder& net, const Feature& x) {
  const Feature a = net.conv(x, 320, square(1));
  const Feature b = fan(net, net.conv(x, 384, square(1)));
  Feature c = net.conv(x, 448, square(1));
  c = fan(net, net.conv(c, 384, square(3, 1, 1)));
  return net.concat({a, b, c, pooled_branch(net, x, 192)});
}

Feature aux_branch(CnnBuilder& net, const Feature& x) {
  Feature y = net.average_pool(x, square(5, 3));
  y = net.conv(y, 128, square(1));
  y = net.conv(y, 768, square(5));
  return net.adaptive_pool(y, 1);
}

}  // namespace

void build_inception(CnnBuilder& net, const CnnShape& shape) {
  Feature x = net.conv(net.sample(), 32, square(3, 2));
  x = net.conv(x, 32, square(3));
  x = net.conv(x, 64, square(3, 1, 1));
  x = net.max_pool(x, square(3, 2));
  x = net.conv(x, 80, square(1));
  x = net.conv(x, 192, square(3));
  x = net.max_pool(x, square(3, 2));
  for (int pool_channels : {32, 64, 64}) x = block_a(net, x, pool_channels);
  x = block_b(net, x);
  for (int inner : {128, 160, 160, 192}) x = block_c(net, x, inner);
  std::optional<Feature> aux;
  if (shape.aux_head) aux = aux_branch(net, x);
  x = block_d(net, x);
  for (int i = 0; i < 2; ++i) x = block_e(net, x);
  x = net.adaptive_pool(x, 1);
  if (aux) {
    net.head({x, *aux}, true);
  } else {
    net.head({x}, true);
  }
}

}  // namespace nereus::model
