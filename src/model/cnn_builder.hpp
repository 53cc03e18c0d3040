// The functions from which the vision families are built: each call adds one layer to the graph and
// returns its output.
//
//   CnnBuilder net(shape);
//   Feature x = net.conv(net.sample(), {"conv1", "bn1"}, 64, square(7, 2, 3));
//   x = net.max_pool(x, square(3, 2, 1));
//
// Each call also records the layer (model/cnn_recipe.hpp), so that predicting and running a network
// use the same tables.
#pragma once

#include <string>
#include <vector>

#include "model/cnn_recipe.hpp"
#include "model/graph.hpp"
#include "model/vision_ops.hpp"

namespace nereus::model {

// An activation: the layer that made it (-1: it is the sample) and its size.
struct Feature {
  int layer = -1;
  Image image;
};

// Names of torchvision's modules; if `norm` is empty, there is no norm.
struct ConvNames {
  std::string conv{};
  std::string norm{};
};

struct ConvOptions {
  bool bias = false;
  bool relu = true;
  bool relu6 = false;  // instead of ReLU
  bool dropout_before = false;
  bool second_half = false;  // uses only the second half of the input's channels
  int groups = 1;            // 0: one per channel (depthwise)
};

struct ClassifierInput {
  Feature feature;
  std::string name{};
};

inline Window square(int size, int stride = 1, int pad = 0) {
  return {size, size, stride, pad, pad};
}

class CnnBuilder {
 public:
  explicit CnnBuilder(const CnnShape& shape) : shape_(shape) {}

  Feature sample() const { return {-1, {3, shape_.image, shape_.image}}; }
  Feature conv(const Feature& x, const ConvNames& names, int channels, const Window& window,
               ConvOptions options = {});
  Feature max_pool(const Feature& x, const Window& window, bool ceil = false);
  Feature average_pool(const Feature& x, const Window& window);
  Feature adaptive_pool(const Feature& x, int size);  // to size x size for any input
  Feature add_relu(const Feature& x, const Feature& shortcut);
  Feature add(const Feature& x, const Feature& shortcut);
  Feature concat(const std::vector<Feature>& parts);
  // Interleaves the first channels of x, as many as `y` has, with those of y.
  Feature shuffle(const Feature& x, const Feature& y);
  // Reads all of x, flattened. `dropout` follows the activation, if there is one.
  Feature dense(const Feature& x, const std::string& name, int features, bool relu, bool dropout,
                bool dropout_before = false);
  // One classifier per input, the main one first (with dropout before it), and the loss: in the
  // classifier's layer if there is only one, else in a separate layer.
  void head(const std::vector<ClassifierInput>& inputs, bool dropout);
  // The loss for existing logits.
  void loss(const Feature& logits);

  Model finish();
  const std::vector<CnnLayer>& recipe() const { return recipe_; }

 private:
  Feature add_layer(LayerKind kind, CnnLayer what, const std::vector<Feature>& inputs,
                    const Image& out);
  Feature pool_layer(const char* name, CnnLayer::Kind what, const Feature& x, const Image& out,
                     const Window& window, bool ceil = false);
  Feature sum_layer(const Feature& x, const Feature& shortcut, bool relu);

  CnnShape shape_;
  GraphBuilder graph_;
  std::vector<CnnLayer> recipe_;
};

// Builds the family of a resolved shape; the following build one family each.
void build_family(CnnBuilder& net, const CnnShape& shape);
void build_resnet(CnnBuilder& net, const CnnShape& shape);
void build_vgg(CnnBuilder& net, const CnnShape& shape);
void build_inception(CnnBuilder& net, const CnnShape& shape);
void build_alexnet(CnnBuilder& net, const CnnShape& shape);
void build_squeezenet(CnnBuilder& net, const CnnShape& shape);
void build_mobilenet(CnnBuilder& net, const CnnShape& shape);
void build_shufflenet(CnnBuilder& net, const CnnShape& shape);

}  // namespace nereus::model
