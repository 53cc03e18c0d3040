// Which part of a model's embedding tables each of the ep ranks of a group holds.
//
// Whole tables are assigned by longest processing time first (Graham 1969): the largest remaining
// table goes to the slice with the smallest load. So the fullest slice has at most 4/3 - 1/(3 ep)
// times the load it would have in an optimal assignment. With `table`, the load is bytes, and
// look-ups break ties; with `lookups` it is the other way round. Slices are then numbered by their
// bytes, the fullest first.
//
// Rows: slice s of a table of R rows holds block s of ceil(R / ep) rows. So the first slices are
// the fullest, and if a table has fewer rows than ranks, some slices have none (as in torchrec's
// row-wise sharding). Columns: every rank has dim / ep columns of each table.
//
//   const model::LayerKind& layer = model.layer(model.table_layer());
//   std::vector<int> slices = deal_tables(layer, TableSplit::kTable, 8);   // one per table
//   held_rows(rows, 8, 0);                                                 // in slice 0
#pragma once

#include <cstdint>
#include <vector>

#include "model/model.hpp"
#include "plan/degrees.hpp"

namespace nereus::plan {

// Kernels read rows in vectors of four weights (FBGEMM: dims are multiples of 4).
inline constexpr int kLeastColumns = 4;

// Whether tables stay whole under this split.
inline bool keeps_tables_whole(TableSplit split) {
  return split == TableSplit::kTable || split == TableSplit::kLookups;
}

// Returns, for each table of the layer, the slice that holds it. `split` must keep tables whole.
std::vector<int> deal_tables(const model::LayerKind& layer, TableSplit split, int num_slices);

// Rows of a table of `rows` rows that a slice holds under a row split.
inline double held_rows(double rows, int num_slices, int slice) {
  const auto all = static_cast<std::int64_t>(rows);
  const std::int64_t block = (all + num_slices - 1) / num_slices;
  const std::int64_t left = all - block * slice;
  return static_cast<double>(left < 0 ? 0 : left < block ? left : block);
}

// Bytes of a table's weights and of its optimizer state.
double table_bytes(const model::Operator& table);

}  // namespace nereus::plan
