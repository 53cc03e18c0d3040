// The words the vision families are written in: each call adds one layer to the graph and returns
// its output.
//
//   CnnBuilder net(shape);
//   Feature x = net.conv(net.sample(), {"conv1", "bn1"}, 64, square(7, 2, 3));
//   x = net.max_pool(x, square(3, 2, 1));
//
// Each call also notes what the layer is (model/cnn_recipe.hpp), so that who predicts a network and
// who runs it read the same tables.
#pragma once

#include <string>
#include <vector>

#include "model/cnn_recipe.hpp"
#include "model/graph.hpp"
#include "model/vision_ops.hpp"

namespace nereus::model {

// An activation: who made it (-1: it is the sample) and its size.
struct Feature {
  int layer = -1;
  Image image;
};

// Modules of torchvision; no name of a norm: there is none.
struct ConvNames {
  std::string conv{};
  std::string norm{};
};

struct ConvOptions {
  bool bias = false;
  bool relu = true;
  bool relu6 = false;  // in ReLU's place
  bool dropout_before = false;
  bool second_half = false;  // of the input's channels, alone
  int groups = 1;            // 0: one a channel (depthwise)
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
  Feature adaptive_pool(const Feature& x, int size);  // to size x size whatever comes in
  Feature add_relu(const Feature& x, const Feature& shortcut);
  Feature add(const Feature& x, const Feature& shortcut);
  Feature concat(const std::vector<Feature>& parts);
  // The first channels of x, as many as `y` has, and y's, by turns.
  Feature shuffle(const Feature& x, const Feature& y);
  // Reads all of x, flattened. `dropout` follows the activation where there is one.
  Feature dense(const Feature& x, const std::string& name, int features, bool relu, bool dropout,
                bool dropout_before = false);
  // One classifier per input, the main one first (dropout before it), and the loss: in the
  // classifier's own layer where there is one, in a layer where all meet otherwise.
  void head(const std::vector<ClassifierInput>& inputs, bool dropout);
  // The loss over logits that were made before.
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

// The family of a resolved shape; then one per family.
void build_family(CnnBuilder& net, const CnnShape& shape);
void build_resnet(CnnBuilder& net, const CnnShape& shape);
void build_vgg(CnnBuilder& net, const CnnShape& shape);
void build_inception(CnnBuilder& net, const CnnShape& shape);
void build_alexnet(CnnBuilder& net, const CnnShape& shape);
void build_squeezenet(CnnBuilder& net, const CnnShape& shape);
void build_mobilenet(CnnBuilder& net, const CnnShape& shape);
void build_shufflenet(CnnBuilder& net, const CnnShape& shape);

}  // namespace nereus::model
