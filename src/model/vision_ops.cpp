#include "model/vision_ops.hpp"

namespace nereus::model {

Image slide(const Image& in, const Window& window, int channels) {
  const auto out = [&](int size, int width, int pad) {
    const int room = size + 2 * pad - width;
    return room < 0 ? 0 : room / window.stride + 1;
  };
  return {channels, out(in.height, window.height, window.pad_height),
          out(in.width, window.width, window.pad_width)};
}

Operator convolution(std::string name, const Image& in, const Image& out, const Window& window,
                     int groups, bool bias) {
  Operator op;
  op.name = std::move(name);
  op.kind = OpKind::kConvolution;
  op.window = window.height * window.width;
  op.groups = groups;
  op.rows = out.positions();
  op.n = out.channels;
  op.k = static_cast<double>(in.channels) / groups * op.window;
  op.input_elements = in.elements();
  op.parameters = op.n * op.k + (bias ? op.n : 0);
  op.flops = 2 * op.rows * op.n * op.k;
  op.read_elements = in.elements();
  op.written_elements = out.elements();
  return op;
}

Operator batch_norm(const Image& x) {
  Operator op;
  op.name = "norm";
  op.kind = OpKind::kNorm;
  op.image = true;
  op.rows = x.positions();
  op.n = x.channels;
  op.parameters = 2 * op.n;
  op.flops = 5 * x.elements();
  op.read_elements = x.elements();
  op.written_elements = x.elements();
  op.saved_elements = x.elements();  // its input, the convolution's result
  return op;
}

Operator pool(std::string name, const Image& in, const Image& out, const Window& window) {
  Operator op;
  op.name = std::move(name);
  op.kind = OpKind::kPool;
  op.image = true;
  op.window = window.height * window.width;
  op.rows = out.positions();
  op.n = out.channels;
  op.input_elements = in.elements();
  op.flops = out.elements() * op.window;
  op.read_elements = in.elements();
  op.written_elements = out.elements();
  op.saved_elements = out.elements();
  return op;
}

Operator elementwise(std::string name, double rows, double features, double inputs) {
  Operator op;
  op.name = std::move(name);
  op.kind = OpKind::kElementwise;
  op.rows = rows;
  op.n = features;
  op.flops = rows * features * inputs;
  op.read_elements = rows * features * inputs;
  op.written_elements = rows * features;
  return op;
}

Operator linear(std::string name, double rows, double out, double in, bool bias) {
  Operator op;
  op.name = std::move(name);
  op.kind = OpKind::kGemm;
  op.rows = rows;
  op.n = out;
  op.k = in;
  op.parameters = out * in + (bias ? out : 0);
  op.flops = 2 * rows * out * in;
  op.read_elements = rows * in;
  op.written_elements = rows * out;
  return op;
}

Operator cross_entropy(double rows, double classes) {
  Operator op;
  op.name = "loss";
  op.kind = OpKind::kLoss;
  op.rows = rows;
  op.n = classes;
  op.flops = 5 * rows * classes;
  op.read_elements = 3 * rows * classes;
  op.written_elements = 2 * rows * classes;
  op.saved_bytes = 4 * rows * classes;  // log-probabilities at fp32
  op.kernels = 4;
  return op;
}

}  // namespace nereus::model
