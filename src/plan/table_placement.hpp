// Which part of a model's embedding tables each of the ep ranks of a group holds.
//
// Whole tables are assigned greedily, the largest remaining one to the slice with the smallest
// load.
//
// - `lookups`: the load is look-ups x columns, and bytes break ties. The busiest slice has at most
//   4/3 - 1/(3 ep) times the load that it would have in an optimal assignment (Graham 1969).
// - `table`: the load is the time of look-ups and exchange, in units of one row that is read,
//     load = columns x (look-ups + 1.86)
//   1.86 rows take as long to read as one pooled vector takes to exchange. HugeCTR's planner
//   (samples/dlrm: train.py, sharding/planner.py) weighs a table's look-ups with 1 and its vector
//   with the ratio of memory to link bandwidth over the ratio of their bytes, (3.35 TB/s /
//   450 GB/s) / 4 on an H100. TorchRec's planner adds the same two times, and
//   DeepLearningExamples deals equally many tables to all ranks. As in these, a slice without room
//   is passed over. Room is 5/4 of what the fullest slice has if tables are balanced by bytes
//   alone. If a table has no place, or if the busiest slice would have a larger load than when
//   balanced by bytes, that balance is kept.
//
// Slices are then numbered by their bytes, the fullest first.
//
// Rows: slice s of a table of R rows holds block s of ceil(R / ep) rows. So the first slices are
// the fullest, and if a table has fewer rows than ranks, some slices have none (as in torchrec's
// row-wise sharding).
//
// Columns: every rank has dim / ep columns of each table, if at least 4 are left. Otherwise c ranks
// share the columns and ep / c neighbors the rows of each such slice (TorchRec's grid sharding and
// HugeCTR's hierarchical plans cut between nodes and then inside them). c is the largest divisor of
// ep and dim that leaves 16 columns, which make an access of 64 bytes, or at least 4. Rank r has
// columns r / (ep / c) and block r mod (ep / c) of the rows.
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
// The time to exchange a pooled vector, in rows that are read meanwhile.
inline constexpr double kExchangedRows = 3350.0 / 450 / 4;
// Bytes of the fullest slice relative to a balance by bytes alone.
inline constexpr double kTableRoom = 1.25;

// Whether tables stay whole under this split.
inline bool keeps_tables_whole(TableSplit split) {
  return split == TableSplit::kTable || split == TableSplit::kLookups;
}

// Returns, for each table of the layer, the slice that holds it. `split` must keep tables whole.
std::vector<int> deal_tables(const model::LayerKind& layer, TableSplit split, int num_slices);

// The header's c, or 0 if ep ranks cannot share the columns of tables whose widths `dim` divides.
int column_parts(int dim, int ep);
int column_parts(const model::LayerKind& layer, int ep);

// Rows of a table of `rows` rows that a slice holds under a row split.
inline double held_rows(double rows, int num_slices, int slice) {
  const auto all = static_cast<std::int64_t>(rows);
  const std::int64_t block = (all + num_slices - 1) / num_slices;
  const std::int64_t left = all - block * slice;
  return static_cast<double>(left < 0 ? 0 : left < block ? left : block);
}

// Bytes of a table's weights and of its optimizer state.
double table_bytes(const model::Operator& table);
// The time of its look-ups and its exchange, relative to other tables.
double table_load(const model::Operator& table);

}  // namespace nereus::plan
