#include "model/model.hpp"

namespace nereus::model {

double LayerKind::parameters() const {
  double total = 0;
  for (const Operator& op : operators) total += op.parameters;
  return total;
}

double LayerKind::expert_parameters() const {
  double total = 0;
  for (const Operator& op : operators)
    if (op.split == Split::kExperts) total += op.parameters;
  return total;
}

double LayerKind::table_parameters() const {
  double total = 0;
  for (const Operator& op : operators)
    if (op.split == Split::kTables) total += op.parameters;
  return total;
}

double LayerKind::forward_flops() const {
  double total = 0;
  for (const Operator& op : operators) total += op.flops;
  return total;
}

double Model::parameters() const {
  double total = 0;
  for (int kind : layers) total += kinds[kind].parameters();
  // A tied weight lives in both layers' operator lists; it exists once.
  for (const TiedWeights& pair : tied) total -= pair.parameters;
  return total;
}

double Model::training_flops() const {
  double total = 0;
  for (int kind : layers) {
    for (const Operator& op : kinds[kind].operators) {
      const bool counted = op.kind == OpKind::kGemm || op.kind == OpKind::kAttention ||
                           op.kind == OpKind::kConvolution || op.kind == OpKind::kInteraction ||
                           op.kind == OpKind::kScan;
      if (counted) total += 3 * op.flops;
    }
  }
  return total;
}

int Model::table_layer() const {
  for (int i = 0; i < num_layers(); ++i) {
    const LayerKind& kind = layer(i);
    if (!kind.operators.empty() && kind.operators.front().split == Split::kTables) return i;
  }
  return -1;
}

std::vector<Edge> all_edges(const Model& model) {
  if (!model.edges.empty()) return model.edges;
  std::vector<Edge> edges;
  for (int i = 0; i + 1 < model.num_layers(); ++i)
    edges.push_back({i, i + 1, model.layer(i).output_elements});
  return edges;
}

}  // namespace nereus::model
