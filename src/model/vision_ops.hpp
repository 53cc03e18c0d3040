// Operators of convolutional networks, shared by the vision families and the ONNX importer.
//
//   Image x{3, 224, 224};
//   Window w{.height = 7, .width = 7, .stride = 2, .pad_height = 3, .pad_width = 3};
//   Image y = slide(x, w, 64);                       // floor((in + 2 pad - window) / stride) + 1
//   Operator op = convolution("conv", x, y, w, 1, false);
#pragma once

#include <string>

#include "model/operator.hpp"

namespace nereus::model {

struct Image {
  int channels = 0;
  int height = 0;
  int width = 0;
  double positions() const { return static_cast<double>(height) * width; }
  double elements() const { return positions() * channels; }
};

struct Window {
  int height = 1;
  int width = 1;
  int stride = 1;
  int pad_height = 0;
  int pad_width = 0;
};

// The image that results from sliding `window` over `in`. Height or width may be below 1: the
// caller must reject it.
Image slide(const Image& in, const Window& window, int channels);

Operator convolution(std::string name, const Image& in, const Image& out, const Window& window,
                     int groups, bool bias);
Operator batch_norm(const Image& x);
Operator pool(std::string name, const Image& in, const Image& out, const Window& window);
// Reads `inputs` tensors with rows x features each, writes one.
Operator elementwise(std::string name, double rows, double features, double inputs);
Operator linear(std::string name, double rows, double out, double in, bool bias);
Operator cross_entropy(double rows, double classes);

}  // namespace nereus::model
