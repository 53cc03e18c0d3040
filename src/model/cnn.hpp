// Convolutional networks: the shape that describes one, and its expansion into a graph of layers.
//
// ResNet (He 2016, 1512.03385; wide ResNet: Zagoruyko 2016, 1605.07146), VGG (Simonyan 2014,
// 1409.1556), Inception-v3 (Szegedy 2015, 1512.00567), AlexNet (Krizhevsky 2014, 1404.5997),
// SqueezeNet 1.0 (Iandola 2016, 1602.07360), MobileNet v2 (Sandler 2018, 1801.04381) and ShuffleNet
// v2 x0.5 (Ma 2018, 1807.11164), each in torchvision's layout, so that parameter counts and names
// agree with its weights. A convolution with its norm and activation is one layer. Pools, residual
// sums, concatenations and shuffles are separate layers, so that a planner sees every branch.
//
//   convolution  parameters c_out (c_in / groups) w_h w_w + bias,
//                FLOPs 2 o_h o_w x parameters without bias
//   batch norm   parameters 2 c
//
// Activations kept for backward are counted in the layer that produces them: the output of every
// convolution before a norm, and of every in-place activation, pool and concatenation. So the sum
// over layers is what one device keeps.
//
//   Model m = build_cnn({.name = "resnet50", .family = "resnet", .depth = 50});
#pragma once

#include <string>

namespace nereus::model {

struct Model;

inline constexpr int kResnetChannels = 64;

struct CnnShape {
  std::string name{};
  std::string family{};  // resnet, vgg, inception, alexnet, squeezenet, mobilenet, shufflenet
  // resnet 10, 12, 16, 18, 34, 50, 101, 152; vgg 11, 13, 16, 19. The other families have only one
  // depth, which need not be given (inception: its version 3).
  int depth = 0;
  int width = 1;  // factor on a bottleneck's inner channels: 2 for wide ResNet-50-2 and 101-2
  // Channels of the first stage of a ResNet or VGG: 64 in published networks, fewer for
  // experiments. All other widths are in proportion; a multiple of 4 (inception, squeezenet) or 8
  // (mobilenet, shufflenet) keeps them whole.
  int channels = kResnetChannels;
  int image = 0;  // height and width of a sample; 0: 224, for inception 299
  int classes = 1000;
  bool batch_norm = true;  // may be false for resnet and vgg; alexnet and squeezenet never have it
  bool aux_head = false;   // inception only: its auxiliary classifier
  bool operator==(const CnnShape&) const = default;
};

// Fills in `image`, and throws Errors for invalid shapes.
CnnShape resolve(CnnShape shape);
Model build_cnn(const CnnShape& shape);

}  // namespace nereus::model
