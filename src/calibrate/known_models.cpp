#include "calibrate/known_models.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "model/read/load_model.hpp"

namespace nereus::calibrate {

using model::TransformerShape;

namespace {

// Letters and digits only, in lower case: "Qwen3_30B_a3B" and "qwen3-30b-a3b" are one name.
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

const std::vector<TransformerShape>& known_experts() {
  static const std::vector<TransformerShape> kShapes = [] {
    std::vector<TransformerShape> shapes;
    for (const model::CatalogueModel& entry : model::catalogue_models()) {
      const model::Model model = model::load_model(entry.name);
      if (model.transformer && model.transformer->experts > 0) shapes.push_back(*model.transformer);
    }
    return shapes;
  }();
  return kShapes;
}

bool same_sizes(const TransformerShape& a, const TransformerShape& b) {
  return a.hidden == b.hidden && a.heads == b.heads && a.experts == b.experts &&
         a.top_k == b.top_k && a.expert_ffn == b.expert_ffn;
}

std::optional<TransformerShape> known_dense(const TransformerShape& columns,
                                            std::string_view row_model) {
  const std::string* name = model::catalogue_name(row_model);
  if (name == nullptr) return std::nullopt;
  const model::Model model = model::load_model(*name);
  if (!model.transformer) return std::nullopt;
  TransformerShape shape = *model.transformer;
  const bool same = shape.layers == columns.layers && shape.hidden == columns.hidden &&
                    shape.heads == columns.heads && shape.experts == 0;
  const bool special = shape.window > 0 || shape.head_dim * shape.heads != shape.hidden;
  if (!same || !special) return std::nullopt;
  shape.seq = columns.seq;
  return shape;
}

const TransformerShape* named(const std::vector<const TransformerShape*>& shapes,
                              const std::string& name) {
  for (const TransformerShape* shape : shapes)
    if (plain(shape->name) == name) return shape;
  return nullptr;
}

}  // namespace

std::optional<TransformerShape> known_shape(const TransformerShape& columns,
                                            std::string_view row_model) {
  if (columns.experts <= 0) return known_dense(columns, row_model);
  std::vector<const TransformerShape*> fitting;
  for (const TransformerShape& shape : known_experts())
    if (same_sizes(shape, columns)) fitting.push_back(&shape);
  if (fitting.empty()) return std::nullopt;
  const std::string row = plain(row_model);
  const TransformerShape* best = fitting.front();
  std::size_t most = 0;
  for (const TransformerShape* shape : fitting) {
    const std::string name = plain(shape->name);
    if (!row.starts_with(name) || name.size() <= most) continue;
    best = shape;
    most = name.size();
  }
  if (row.find("womtp") == std::string::npos)
    if (const TransformerShape* trained = named(fitting, plain(best->name) + "mtp")) best = trained;
  TransformerShape shape = *best;
  if (!shape.pattern.empty() && shape.layers != columns.layers) return std::nullopt;
  shape.layers = columns.layers;
  shape.seq = columns.seq;
  shape.dense_layers = std::min(shape.dense_layers, shape.layers);
  return shape;
}

}  // namespace nereus::calibrate
