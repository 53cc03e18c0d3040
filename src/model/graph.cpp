#include "model/graph.hpp"

#include "base/error.hpp"

namespace nereus::model {

int GraphBuilder::add(LayerKind kind, const std::vector<GraphInput>& inputs) {
  const int index = model_.num_layers();
  for (const GraphInput& input : inputs) {
    NEREUS_CHECK(input.layer >= 0 && input.layer < index, "a layer reads an earlier one");
    kind.input_elements += input.elements;
    model_.edges.push_back({input.layer, index, input.elements});
  }
  const auto [begin, end] = kinds_by_name_.equal_range(kind.name);
  for (auto it = begin; it != end; ++it) {
    if (model_.kinds[it->second] == kind) {
      model_.layers.push_back(it->second);
      return index;
    }
  }
  const int id = static_cast<int>(model_.kinds.size());
  kinds_by_name_.emplace(kind.name, id);
  model_.kinds.push_back(std::move(kind));
  model_.layers.push_back(id);
  return index;
}

Model GraphBuilder::finish() {
  Model chain = model_;
  chain.edges.clear();
  if (model_.edges == all_edges(chain)) model_.edges.clear();
  return std::move(model_);
}

}  // namespace nereus::model
