// Builds a model layer by layer: shares equal layer kinds, and stores edges unless the model is a
// chain.
//
//   GraphBuilder g;
//   int a = g.add(conv_layer, {});             // reads the sample itself
//   int b = g.add(pool_layer, {{a, elements}});
//   Model m = g.finish();
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "model/model.hpp"

namespace nereus::model {

// An input of a layer: the output, or a part of it, of an earlier layer.
struct GraphInput {
  int layer = 0;
  double elements = 0;  // per sample
};

class GraphBuilder {
 public:
  // kind.input_elements must be what the layer reads directly from the sample; `inputs` are added
  // to it. Returns the layer's index.
  int add(LayerKind kind, const std::vector<GraphInput>& inputs);
  // The model so far; the caller fills in name, family and shape.
  Model finish();

 private:
  Model model_;
  std::unordered_multimap<std::string, int> kinds_by_name_;
};

}  // namespace nereus::model
