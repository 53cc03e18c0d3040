// The words the vision families are written in: each call adds one layer to the graph and returns
// its output.
//
//   CnnBuilder net(shape);
//   Feature x = net.conv(net.sample(), 64, {.height = 7, .width = 7, .stride = 2, .pad_height = 3,
//   .pad_width = 3}); x = net.max_pool(x, {.height = 3, .width = 3, .stride = 2});
#pragma once

#include <string>
#include <vector>

#include "model/cnn.hpp"
#include "model/graph.hpp"
#include "model/vision_ops.hpp"

namespace nereus::model {

// An activation: who made it (-1: it is the sample) and its size.
struct Feature {
  int layer = -1;
  Image image;
};

struct ConvOptions {
  bool bias = false;
  bool norm = true;
  bool relu = true;
};

inline Window square(int size, int stride = 1, int pad = 0) {
  return {size, size, stride, pad, pad};
}

class CnnBuilder {
 public:
  explicit CnnBuilder(const CnnShape& shape) : shape_(shape) {}

  Feature sample() const { return {-1, {3, shape_.image, shape_.image}}; }
  Feature conv(const Feature& x, int channels, const Window& window, ConvOptions options = {});
  Feature max_pool(const Feature& x, const Window& window);
  Feature average_pool(const Feature& x, const Window& window);
  Feature adaptive_pool(const Feature& x, int size);  // to size x size whatever comes in
  Feature add_relu(const Feature& x, const Feature& shortcut);
  Feature concat(const std::vector<Feature>& parts);
  // Reads all of x, flattened. `dropout` follows the activation where there is one.
  Feature dense(const Feature& x, int features, bool relu, bool dropout);
  // One classifier per input, the main one first (dropout before it), and the loss: in the
  // classifier's own layer where there is one, in a layer where all meet otherwise.
  void head(const std::vector<Feature>& inputs, bool dropout);

  Model finish();

 private:
  Feature add(LayerKind kind, const std::vector<Feature>& inputs, const Image& out);
  Feature pool_layer(const char* name, const Feature& x, const Image& out, const Window& window,
                     bool keep_index);

  CnnShape shape_;
  GraphBuilder graph_;
};

// One per family.
void build_resnet(CnnBuilder& net, const CnnShape& shape);
void build_vgg(CnnBuilder& net, const CnnShape& shape);
void build_inception(CnnBuilder& net, const CnnShape& shape);

}  // namespace nereus::model
