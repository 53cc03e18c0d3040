#include "reproduce/stash_models.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "model/cnn_recipe.hpp"
#include "model/read/load_model.hpp"
#include "model/vision_ops.hpp"
#include "reproduce/stash_files.hpp"

namespace nereus::app {

namespace {

using model::CnnLayer;

constexpr int kSquadTokens = 384;  // usual for SQuAD; Stash does not change it
constexpr double kImageBytes = 3 * 224 * 224 * 4.0;

bool keeps_norm(const CnnLayer& layer, const model::CnnShape& shape, Norms norms) {
  if (norms == Norms::kAll) return true;
  if (norms == Norms::kNone) return false;
  const bool stem = layer.name == "conv1";
  const bool shortcut = layer.name.find("downsample") != std::string::npos;
  return !stem && (shortcut || shape.depth >= 50);
}

void add_tensors(StashNetwork& net, const CnnLayer& layer, int index) {
  for (const model::CnnTensor& tensor : model::parameters_of(layer)) {
    double elements = 1;
    for (const std::int64_t length : tensor.shape) elements *= static_cast<double>(length);
    net.tensors.push_back({tensor.name, elements, index});
  }
}

StashNetwork vision_network(const model::Model& model, Norms norms) {
  StashNetwork net;
  net.sample_bytes = kImageBytes;
  std::vector<CnnLayer> recipe = model::cnn_recipe(*model.cnn);
  for (std::size_t i = 0; i < recipe.size(); ++i) {
    model::LayerKind kind = model.layer(static_cast<int>(i));
    CnnLayer& layer = recipe[i];
    if (!layer.norm.empty() && !keeps_norm(layer, *model.cnn, norms)) {
      layer.norm.clear();
      std::erase_if(kind.operators,
                    [](const model::Operator& op) { return op.kind == model::OpKind::kNorm; });
    }
    net.layers.push_back(std::move(kind));
    add_tensors(net, layer, static_cast<int>(i));
  }
  return net;
}

void add_dense(StashNetwork& net, int layer, const std::string& name, double out, double in) {
  net.tensors.push_back({name + ".weight", out * in, layer});
  net.tensors.push_back({name + ".bias", out, layer});
}

void add_norm(StashNetwork& net, int layer, const std::string& name, double hidden) {
  net.tensors.push_back({name + ".weight", hidden, layer});
  net.tensors.push_back({name + ".bias", hidden, layer});
}

void add_block(StashNetwork& net, int layer, int number, double hidden, double ffn) {
  const std::string at = fmt::format("encoder.layer.{}.", number);
  for (const char* part : {"query", "key", "value"})
    add_dense(net, layer, fmt::format("{}attention.self.{}", at, part), hidden, hidden);
  add_dense(net, layer, at + "attention.output.dense", hidden, hidden);
  add_norm(net, layer, at + "attention.output.LayerNorm", hidden);
  add_dense(net, layer, at + "intermediate.dense", ffn, hidden);
  add_dense(net, layer, at + "output.dense", hidden, ffn);
  add_norm(net, layer, at + "output.LayerNorm", hidden);
}

// Names and order of transformers' BertForQuestionAnswering, which has no pooler. The head marks
// the first and the last word of an answer.
StashNetwork bert_network(const model::Model& model) {
  const model::TransformerShape& shape = *model.transformer;
  StashNetwork net;
  net.sample_bytes = 3 * 8.0 * shape.seq;  // words, kinds and the mask as 64-bit integers
  for (int i = 0; i + 1 < model.num_layers(); ++i) net.layers.push_back(model.layer(i));
  model::LayerKind head;
  head.name = "answers";
  head.role = model::LayerRole::kHead;
  head.operators.push_back(model::linear("answers", shape.seq, 2, shape.hidden, true));
  head.operators.push_back(model::cross_entropy(2, shape.seq));
  net.layers.push_back(head);

  const double hidden = shape.hidden;
  const std::string at = "embeddings.";
  net.tensors.push_back({at + "word_embeddings.weight", shape.vocab * hidden, 0});
  net.tensors.push_back({at + "position_embeddings.weight", shape.max_positions * hidden, 0});
  net.tensors.push_back({at + "token_type_embeddings.weight", 2 * hidden, 0});
  add_norm(net, 0, at + "LayerNorm", hidden);
  for (int i = 0; i < shape.layers; ++i) add_block(net, i + 1, i, hidden, shape.ffn);
  add_dense(net, model.num_layers() - 1, "qa_outputs", 2, hidden);
  return net;
}

}  // namespace

double StashNetwork::parameters() const {
  double sum = 0;
  for (const StashTensor& own : tensors) sum += own.elements;
  return sum;
}

StashNetwork stash_network(const std::string& name, Norms norms) {
  const bool bert = name.starts_with("bert-large");
  const model::Model model =
      bert ? model::load_model("bert-large", {{"seq", std::to_string(kSquadTokens)}})
           : model::load_model(name);
  NEREUS_CHECK(bert || model.cnn, "Stash's networks are BERT and convolutional ones");
  StashNetwork net = bert ? bert_network(model) : vision_network(model, norms);
  net.name = name;
  return net;
}

std::vector<StashModelRow> stash_model_rows() {
  std::vector<StashModelRow> rows;
  const StashTable table("models.csv");
  for (const spec::CsvRow& row : table.rows())
    rows.push_back({table.text(row, "model"),
                    static_cast<int>(table.number(row, "parameter_tensors").value_or(0)),
                    table.number(row, "parameters").value_or(0)});
  return rows;
}

}  // namespace nereus::app
