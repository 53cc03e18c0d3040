// Recommendation: DLRM (Naumov 2019, 1906.00091). Dense features go through a bottom MLP, and each
// categorical feature goes through a table (rows summed over its look-ups). Then all vectors
// interact, and a top MLP computes one probability.
//
//   parameters    sum over tables rows x dim  +  sum over MLP layers in x out + out
//   interaction   of f = tables + 1 vectors; the input of the top MLP:
//     dot         f (f - 1) / 2 products of pairs, next to the dense vector
//     cat         all vectors concatenated, f dim
//     cross       the same after cross_layers of DCNv2 (Wang 2021, 2008.13535) with low rank r:
//                 x' = x0 * (W (V x) + b) + x, with 2 f dim r + f dim parameters per layer
//
// All tables are one layer, with one operator each: they run as one kernel (table-batched
// embedding) and in one exchange, and a plan distributes or cuts them together
// (plan/table_placement.hpp). The bottom MLP comes after them and does not depend on them.
//
// Tables are stored with table_bytes per weight, without a second copy. table_optimizer has
// separate state: sgd none, rowwise-adagrad 4 bytes per row, adagrad 4 and adam 8 bytes per weight.
//
//   Model m = build_dlrm({.name = "dlrm", .rows = {1000, 40}, .dim = 16, .bottom = {64, 16},
//                         .top = {64, 1}});
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nereus::model {

struct Model;

enum class Interaction { kDot, kCat, kCross };
enum class TableOptimizer { kSgd, kRowwiseAdagrad, kAdagrad, kAdam };

struct DlrmShape {
  std::string name{};
  std::vector<std::int64_t> rows{};  // one per table
  // Per table and sample; one entry is used for all; empty: one lookup each.
  std::vector<int> lookups{};
  int dim = 128;  // of embeddings, and of the bottom MLP's output
  int dense_features = 13;
  std::vector<int> bottom{};  // outputs of the bottom MLP's layers; the last equals dim
  std::vector<int> top{};     // outputs of the top MLP's layers; the last is 1
  Interaction interaction = Interaction::kDot;
  int cross_layers = 0;  // of the cross interaction
  int cross_rank = 0;
  int table_bytes = 4;  // per weight in a table: 1, 2, 4 or 8
  TableOptimizer table_optimizer = TableOptimizer::kRowwiseAdagrad;
  bool operator==(const DlrmShape&) const = default;
};

// Throws Errors for invalid shapes.
DlrmShape resolve(DlrmShape shape);
Model build_dlrm(const DlrmShape& shape);

}  // namespace nereus::model
