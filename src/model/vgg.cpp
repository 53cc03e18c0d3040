// VGG in torchvision's layout: five stages of 3x3 convolutions, each followed by a pool, then three
// dense layers over a 7x7 map.
#include <fmt/format.h>

#include <array>

#include "model/cnn_builder.hpp"

namespace nereus::model {

namespace {

std::array<int, 5> convs_of(int depth) {
  switch (depth) {
    case 11:
      return {1, 1, 2, 2, 2};
    case 13:
      return {2, 2, 2, 2, 2};
    case 16:
      return {2, 2, 3, 3, 3};
    default:
      return {2, 2, 4, 4, 4};  // 19
  }
}

}  // namespace

void build_vgg(CnnBuilder& net, const CnnShape& shape) {
  constexpr std::array<int, 5> kFactors = {1, 2, 4, 8, 8};
  constexpr int kDenseFactor = 64;
  const std::array<int, 5> convs = convs_of(shape.depth);
  Feature x = net.sample();
  // torchvision numbers convolutions, norms, activations and pools alike.
  int place = 0;
  for (size_t stage = 0; stage < convs.size(); ++stage) {
    for (int i = 0; i < convs[stage]; ++i) {
      ConvNames names{fmt::format("features.{}", place)};
      if (shape.batch_norm) names.norm = fmt::format("features.{}", place + 1);
      x = net.conv(x, names, kFactors[stage] * shape.channels, square(3, 1, 1),
                   {.bias = true, .relu = true});
      place += shape.batch_norm ? 3 : 2;
    }
    x = net.max_pool(x, square(2, 2));
    ++place;
  }
  x = net.adaptive_pool(x, 7);
  x = net.dense(x, "classifier.0", kDenseFactor * shape.channels, true, true);
  x = net.dense(x, "classifier.3", kDenseFactor * shape.channels, true, true);
  net.head({{x, "classifier.6"}}, false);
}

}  // namespace nereus::model
