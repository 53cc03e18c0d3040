// Recommendation: DLRM (Naumov 2019, 1906.00091). Dense features go through a bottom MLP, each
// categorical feature through a table (rows summed over its look-ups), all vectors meet, and a top
// MLP turns what comes out into one probability.
//
//   parameters    sum over tables rows x dim  +  sum over MLP layers in x out + out
//   interaction   of f = tables + 1 vectors, what the top MLP reads:
//     dot         f (f - 1) / 2 products of pairs next to the dense vector
//     cat         all vectors one after the other, f dim
//     cross       the same through cross_layers of DCNv2 (Wang 2021, 2008.13535) in low rank r:
//                 x' = x0 * (W (V x) + b) + x, with 2 f dim r + f dim parameters a layer
//
// All tables are one layer, one operator each: they run as one kernel (table-batched embedding) and
// meet in one exchange, and a plan deals them out, or cuts them, together
// (plan/table_placement.hpp). The bottom MLP comes after it and does not depend on it.
//
// Tables are stored at table_bytes a weight with no second copy, and table_optimizer keeps its own
// state: sgd none, rowwise-adagrad 4 bytes a row, adagrad 4 and adam 8 bytes a weight.
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
  std::vector<std::int64_t> rows{};  // of each table
  std::vector<int> lookups{};  // per table and sample; one entry serves all; empty: one lookup each
  int dim = 128;               // of an embedding, and of the bottom MLP's result
  int dense_features = 13;
  std::vector<int> bottom{};  // outputs of the bottom MLP's layers; the last equals dim
  std::vector<int> top{};     // outputs of the top MLP's layers; the last is 1
  Interaction interaction = Interaction::kDot;
  int cross_layers = 0;  // of the cross interaction
  int cross_rank = 0;
  int table_bytes = 4;  // of a weight in a table: 1, 2, 4 or 8
  TableOptimizer table_optimizer = TableOptimizer::kRowwiseAdagrad;
  bool operator==(const DlrmShape&) const = default;
};

// Throws Errors for shapes that cannot be.
DlrmShape resolve(DlrmShape shape);
Model build_dlrm(const DlrmShape& shape);

}  // namespace nereus::model
