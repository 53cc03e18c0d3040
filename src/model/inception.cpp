// Inception-v3 as torchvision lays it out. Letters name the five kinds of block as there.
#include <fmt/format.h>

#include <optional>

#include "model/cnn_builder.hpp"

namespace nereus::model {

namespace {

constexpr Window kRow7{.height = 1, .width = 7, .stride = 1, .pad_height = 0, .pad_width = 3};
constexpr Window kColumn7{.height = 7, .width = 1, .stride = 1, .pad_height = 3, .pad_width = 0};
constexpr Window kRow3{.height = 1, .width = 3, .stride = 1, .pad_height = 0, .pad_width = 1};
constexpr Window kColumn3{.height = 3, .width = 1, .stride = 1, .pad_height = 1, .pad_width = 0};

// One module: `at` is "Mixed_5b." or empty, and each convolution has a norm. Widths are the
// published ones, for 64 channels.
struct Module {
  CnnBuilder& net;
  int channels = kResnetChannels;
  std::string at{};

  Feature conv(const Feature& x, const std::string& name, int width,
               const Window& window = square(1)) const {
    return net.conv(x, {at + name + ".conv", at + name + ".bn"}, width * channels / kResnetChannels,
                    window);
  }
  Feature pooled_branch(const Feature& x, int width) const {
    return conv(net.average_pool(x, square(3, 1, 1)), "branch_pool", width);
  }
};

Feature block_a(const Module& m, const Feature& x, int pool_channels) {
  const Feature a = m.conv(x, "branch1x1", 64);
  Feature b = m.conv(x, "branch5x5_1", 48);
  b = m.conv(b, "branch5x5_2", 64, square(5, 1, 2));
  Feature c = m.conv(x, "branch3x3dbl_1", 64);
  c = m.conv(c, "branch3x3dbl_2", 96, square(3, 1, 1));
  c = m.conv(c, "branch3x3dbl_3", 96, square(3, 1, 1));
  return m.net.concat({a, b, c, m.pooled_branch(x, pool_channels)});
}

Feature block_b(const Module& m, const Feature& x) {
  const Feature a = m.conv(x, "branch3x3", 384, square(3, 2));
  Feature b = m.conv(x, "branch3x3dbl_1", 64);
  b = m.conv(b, "branch3x3dbl_2", 96, square(3, 1, 1));
  b = m.conv(b, "branch3x3dbl_3", 96, square(3, 2));
  return m.net.concat({a, b, m.net.max_pool(x, square(3, 2))});
}

Feature block_c(const Module& m, const Feature& x, int inner) {
  const Feature a = m.conv(x, "branch1x1", 192);
  Feature b = m.conv(x, "branch7x7_1", inner);
  b = m.conv(b, "branch7x7_2", inner, kRow7);
  b = m.conv(b, "branch7x7_3", 192, kColumn7);
  Feature c = m.conv(x, "branch7x7dbl_1", inner);
  c = m.conv(c, "branch7x7dbl_2", inner, kColumn7);
  c = m.conv(c, "branch7x7dbl_3", inner, kRow7);
  c = m.conv(c, "branch7x7dbl_4", inner, kColumn7);
  c = m.conv(c, "branch7x7dbl_5", 192, kRow7);
  return m.net.concat({a, b, c, m.pooled_branch(x, 192)});
}

Feature block_d(const Module& m, const Feature& x) {
  Feature a = m.conv(x, "branch3x3_1", 192);
  a = m.conv(a, "branch3x3_2", 320, square(3, 2));
  Feature b = m.conv(x, "branch7x7x3_1", 192);
  b = m.conv(b, "branch7x7x3_2", 192, kRow7);
  b = m.conv(b, "branch7x7x3_3", 192, kColumn7);
  b = m.conv(b, "branch7x7x3_4", 192, square(3, 2));
  return m.net.concat({a, b, m.net.max_pool(x, square(3, 2))});
}

// A 3x3 convolution split into a row and a column side by side.
Feature fan(const Module& m, const Feature& x, const std::string& name) {
  const Feature row = m.conv(x, name + "a", 384, kRow3);
  return m.net.concat({row, m.conv(x, name + "b", 384, kColumn3)});
}

Feature block_e(const Module& m, const Feature& x) {
  const Feature a = m.conv(x, "branch1x1", 320);
  const Feature b = fan(m, m.conv(x, "branch3x3_1", 384), "branch3x3_2");
  Feature c = m.conv(x, "branch3x3dbl_1", 448);
  c = fan(m, m.conv(c, "branch3x3dbl_2", 384, square(3, 1, 1)), "branch3x3dbl_3");
  return m.net.concat({a, b, c, m.pooled_branch(x, 192)});
}

Feature aux_branch(const Module& m, const Feature& x) {
  Feature y = m.net.average_pool(x, square(5, 3));
  y = m.conv(y, "conv0", 128);
  y = m.conv(y, "conv1", 768, square(5));
  return m.net.adaptive_pool(y, 1);
}

}  // namespace

void build_inception(CnnBuilder& net, const CnnShape& shape) {
  const Module stem{net, shape.channels};
  const auto mixed = [&](const char* name) {
    return Module{net, shape.channels, fmt::format("Mixed_{}.", name)};
  };
  Feature x = stem.conv(net.sample(), "Conv2d_1a_3x3", 32, square(3, 2));
  x = stem.conv(x, "Conv2d_2a_3x3", 32, square(3));
  x = stem.conv(x, "Conv2d_2b_3x3", 64, square(3, 1, 1));
  x = net.max_pool(x, square(3, 2));
  x = stem.conv(x, "Conv2d_3b_1x1", 80);
  x = stem.conv(x, "Conv2d_4a_3x3", 192, square(3));
  x = net.max_pool(x, square(3, 2));
  x = block_a(mixed("5b"), x, 32);
  x = block_a(mixed("5c"), x, 64);
  x = block_a(mixed("5d"), x, 64);
  x = block_b(mixed("6a"), x);
  x = block_c(mixed("6b"), x, 128);
  x = block_c(mixed("6c"), x, 160);
  x = block_c(mixed("6d"), x, 160);
  x = block_c(mixed("6e"), x, 192);
  std::optional<Feature> aux;
  if (shape.aux_head) aux = aux_branch({net, shape.channels, "AuxLogits."}, x);
  x = block_d(mixed("7a"), x);
  x = block_e(mixed("7b"), x);
  x = block_e(mixed("7c"), x);
  std::vector<ClassifierInput> heads{{net.adaptive_pool(x, 1), "fc"}};
  if (aux) heads.push_back({*aux, "AuxLogits.fc"});
  net.head(heads, true);
}

}  // namespace nereus::model
