// AlexNet in torchvision's layout: the one-tower form of Krizhevsky 2014, without local response
// norm.
#include "model/cnn_builder.hpp"

namespace nereus::model {

void build_alexnet(CnnBuilder& net, const CnnShape& shape) {
  const int c = shape.channels;
  constexpr ConvOptions kBias{.bias = true};
  Feature x = net.conv(net.sample(), {"features.0"}, c, square(11, 4, 2), kBias);
  x = net.max_pool(x, square(3, 2));
  x = net.conv(x, {"features.3"}, 3 * c, square(5, 1, 2), kBias);
  x = net.max_pool(x, square(3, 2));
  x = net.conv(x, {"features.6"}, 6 * c, square(3, 1, 1), kBias);
  x = net.conv(x, {"features.8"}, 4 * c, square(3, 1, 1), kBias);
  x = net.conv(x, {"features.10"}, 4 * c, square(3, 1, 1), kBias);
  x = net.max_pool(x, square(3, 2));
  x = net.adaptive_pool(x, 6);
  x = net.dense(x, "classifier.1", 64 * c, true, true, true);
  x = net.dense(x, "classifier.4", 64 * c, true, false);
  net.head({{x, "classifier.6"}}, false);
}

}  // namespace nereus::model
