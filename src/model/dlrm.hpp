// Recommendation: DLRM (Naumov 2019, 1906.00091). Dense features go through a bottom MLP, each
// categorical feature through a table (rows summed over its lookups), all vectors meet in pairwise
// dot products, and a top MLP turns these into one probability.
//
//   parameters    sum over tables rows x dim  +  sum over MLP layers in x out + out
//   interaction   f = tables + 1 vectors: f (f - 1) / 2 products next to the dense vector feed the
//   top MLP
//
// Every table is a layer of its own (a branch), because plans place tables one by one.
//
//   Model m = build_dlrm({.name = "dlrm", .rows = {1000, 40}, .dim = 16, .bottom = {64, 16}, .top =
//   {64, 1}});
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nereus::model {

struct Model;

struct DlrmShape {
  std::string name{};
  std::vector<std::int64_t> rows{};  // of each table
  std::vector<int> lookups{};  // per table and sample; one entry serves all; empty: one lookup each
  int dim = 128;               // of an embedding, and of the bottom MLP's result
  int dense_features = 13;
  std::vector<int> bottom{};  // outputs of the bottom MLP's layers; the last equals dim
  std::vector<int> top{};     // outputs of the top MLP's layers; the last is 1
  bool operator==(const DlrmShape&) const = default;
};

// Throws Errors for shapes that cannot be.
DlrmShape resolve(DlrmShape shape);
Model build_dlrm(const DlrmShape& shape);

}  // namespace nereus::model
