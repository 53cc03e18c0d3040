#include "calibrate/row_model.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "calibrate/known_models.hpp"
#include "model/read/load_model.hpp"

namespace nereus::calibrate {

namespace {

using model::TransformerShape;

TransformerShape shape_of(Row& row, const cost::RunDefaults& defaults, bool gated) {
  TransformerShape shape;
  shape.name = row.text("model");
  shape.layers = row.count("layers", 0, 1, 100'000);
  shape.hidden = row.count("hidden", 0, 1, 1'000'000);
  shape.heads = row.count("heads", 0);
  shape.kv_heads = row.count("kv_heads", shape.heads);
  shape.head_dim = row.count("head_dim", 0, 0);
  shape.seq = row.count("seq", 0, 0);
  shape.vocab = row.count("vocab", defaults.vocab);
  shape.gated_mlp = gated;
  shape.ffn = row.count("ffn", 4 * shape.hidden);
  shape.family = shape.gated_mlp ? "llama" : "gpt";
  shape.tied_embeddings = row.yes("tied_embeddings", !shape.gated_mlp && defaults.tied_embeddings);
  shape.bias = !shape.gated_mlp && defaults.bias;
  shape.norm = shape.gated_mlp ? model::NormKind::kRmsNorm : model::NormKind::kLayerNorm;
  shape.position = shape.gated_mlp ? model::PositionKind::kRotary : model::PositionKind::kLearned;
  shape.window = row.count("window", 0, 0);
  shape.window_interval = row.count("window_interval", 1);
  shape.full_interval = row.count("full_interval", 0, 0);
  shape.experts = row.count("experts", 0, 0);
  shape.top_k = row.count("top_k", 0, 0);
  shape.expert_ffn = row.count("expert_ffn", 0, 0);
  shape.shared_experts = row.count("shared_experts", 0, 0);
  shape.dense_layers = row.count("dense_layers", 0, 0);
  shape.q_lora = row.count("q_lora", 0, 0);
  shape.kv_lora = row.count("kv_lora", 0, 0);
  return shape;
}

// What the row states over what the catalog knows.
TransformerShape stated_over(TransformerShape shape, Row& row) {
  if (!row.blank("vocab")) shape.vocab = row.count("vocab", shape.vocab);
  if (!row.blank("ffn") && shape.ffn > 0) shape.ffn = row.count("ffn", shape.ffn);
  if (!row.blank("tied_embeddings"))
    shape.tied_embeddings = row.yes("tied_embeddings", shape.tied_embeddings);
  if (!row.blank("head_dim")) shape.head_dim = row.count("head_dim", shape.head_dim);
  if (!row.blank("window")) shape.window = row.count("window", shape.window, 0);
  if (!row.blank("window_interval"))
    shape.window_interval = row.count("window_interval", shape.window_interval);
  if (!row.blank("full_interval"))
    shape.full_interval = row.count("full_interval", shape.full_interval, 0);
  return shape;
}

// A blank `mlp` means the kind whose number of parameters is nearer to the stated one; a plain MLP
// if that is blank too.
std::shared_ptr<const model::Model> build_model(Row& row, const cost::RunDefaults& defaults) {
  const int seq = row.blank("seq") ? RowModels::usual_seq(row) : 0;
  const auto shaped = [&](bool gated) {
    TransformerShape shape = shape_of(row, defaults, gated);
    if (seq > 0) shape.seq = seq;
    return shape;
  };
  if (const auto known = known_shape(shaped(true), row.text("model")))
    return std::make_shared<model::Model>(build_transformer(stated_over(*known, row)));
  const bool gated = row.word("mlp", "plain", {"plain", "gated"}) == "gated";
  auto model = std::make_shared<model::Model>(build_transformer(shaped(gated)));
  const double stated = row.number("params_b") * 1e9;
  if (!row.blank("mlp") || stated <= 0) return model;
  auto other = std::make_shared<model::Model>(build_transformer(shaped(!gated)));
  const auto distance = [&](const model::Model& m) { return std::abs(m.parameters() - stated); };
  return distance(*other) < distance(*model) ? other : model;
}

std::shared_ptr<const model::Model> load_named(const std::string& name, const Row& row) {
  model::Overrides overrides;
  for (const char* column : {"seq", "image", "patch"})
    if (!row.blank(column)) overrides.emplace_back(column, row.text(column));
  return std::make_shared<model::Model>(model::load_model(name, overrides));
}

}  // namespace

const std::string* RowModels::named(const Row& row) {
  return row.blank("layers") ? model::catalogue_name(row.text("model")) : nullptr;
}

int RowModels::usual_seq(Row& row) {
  const std::string* name = model::catalogue_name(row.text("model"));
  if (name == nullptr) return 0;
  const model::Model known = model::load_model(*name);
  if (!known.transformer) return 0;
  const TransformerShape& shape = *known.transformer;
  const bool same = row.count("layers", 0, 1, 100'000) == shape.layers &&
                    row.count("hidden", 0, 1, 1'000'000) == shape.hidden;
  return same ? shape.seq : 0;
}

std::shared_ptr<const model::Model> RowModels::of(Row& row, const cost::RunDefaults& defaults) {
  std::string key;
  for (const char* column :
       {"model",           "layers",     "hidden",          "heads",         "kv_heads",
        "head_dim",        "ffn",        "vocab",           "seq",           "mlp",
        "tied_embeddings", "window",     "window_interval", "full_interval", "experts",
        "top_k",           "expert_ffn", "shared_experts",  "dense_layers",  "q_lora",
        "kv_lora",         "params_b",   "image",           "patch"})
    key += std::string(row.text(column)) + "|";
  key += fmt::format("{}|{}|{}", defaults.vocab, defaults.tied_embeddings, defaults.bias);
  if (const auto known = models_.find(key); known != models_.end()) return known->second;
  std::shared_ptr<const model::Model> built;
  try {
    const std::string* name = named(row);
    built = name != nullptr ? load_named(*name, row) : build_model(row, defaults);
  } catch (const Errors&) {
    return nullptr;
  }
  // What was built from a bad cell is not for the next row, which must be found bad as well.
  if (row.bad().empty()) models_[key] = built;
  return built;
}

}  // namespace nereus::calibrate
