// Embedding tables of recommendation models that ep ranks share: look-ups, exchanges, sparse
// updates, memory. A group of ep ranks holds one copy of the tables; each rank brings b samples of
// a micro-batch, the group B = ep b.
//
// Look-ups are memory bound: every one reads its row, in whole granules of 64 bytes (an access of
// high-bandwidth memory moves no less), wherever it lies:
//   forward  = max((bytes + pooled sums written) / memory rate, share in a tier x bytes / its rate)
//              A tier beyond the device is read in place, row by row (UVM), beside the rows on the
//              device, but all of them no quicker than from the device alone
//   backward = the pooled gradient read for every look-up
// Rows that stay in a cache cost less than that; nothing is taken off for them.
//
// Exchanges, with 8 bytes an index, L look-ups and D columns of a table, e bytes an activation:
//   whole tables   indices all-to-all: the most of what a rank sends, b sum L 8, and what the
//                  busiest holder gets, B sum of its L 8; pooled vectors back: B sum of its D e,
//                  all-to-all
//   rows           indices likewise (look-ups spread as rows do); partial sums of all vectors meet
//                  in a reduce-scatter of B sum D e; gradients come back in an all-gather of as
//                  much
//   columns        indices all-gathered, B sum L 8; slices of vectors all-to-all, B sum D e / ep
// Backward sends gradients the way of the vectors and no indices. The bottom MLP runs beside the
// exchange of vectors (forward) and of gradients (backward): the longer of both counts.
// Collectives wait for all, so the busiest rank in each respect decides.
//
// Once a step, n look-ups a table having been made by the group, of R rows uniformly likely
//   touched  = R (1 - (1 - 1/R)^n)
// differ (skewed look-ups touch fewer). Copies of the tables (dp / ep of them) exchange touched
// rows and indices in an all-gather, or the whole table's gradient in an all-reduce where that
// moves fewer bytes; nothing hides it, for these gradients are the last to be ready. Then
//   update   = rows touched by all copies x 2 (row + its state), in granules, where they lie
// Gradients are kept until then as pooled vectors: B D e a micro-batch of them.
//
// Monotone: all of it is bytes over rates, chosen by bytes alone; of what the bottom MLP hides, it
// gives back at most the time by which it gets quicker.
//
//   TableSlices slices = slice_tables(layer, plan::TableSplit::kRow, 8);
//   TableTraffic traffic = table_traffic(slices, samples, element_bytes);
//   TableStep step = table_step(slices, use, machine);
#pragma once

#include <array>
#include <vector>

#include "cost/kernel_time.hpp"
#include "cost/machine_rates.hpp"
#include "model/model.hpp"
#include "plan/degrees.hpp"

namespace nereus::cost {

inline constexpr double kIndexBytes = 8;
inline constexpr double kGranule = 64;  // bytes that one access moves at least

// What a slice has of `count` equal tables.
struct TablePart {
  double rows = 0;
  double lookups = 0;  // of one sample
  double width = 0;    // columns
  double weight_bytes = 0;
  double state_bytes = 0;  // of one row's optimizer state
  double count = 1;
  double row_bytes() const { return width * weight_bytes; }
};

struct TableSlices {
  plan::TableSplit split = plan::TableSplit::kTable;
  int num_slices = 1;
  // Of every slice that may be the busiest: all of them for whole tables, else the first.
  std::vector<std::vector<TablePart>> parts;
  std::vector<double> weights;  // bytes by slice
  std::vector<double> state;    // bytes of the optimizer by slice
  double lookups = 0;           // of one sample, in all tables
  double vectors = 0;           // elements of one sample's pooled vectors
};

// `slice_of` says where each whole table lies; empty: as plan/table_placement.hpp deals them.
TableSlices slice_tables(const model::LayerKind& layer, plan::TableSplit split, int num_slices,
                         const std::vector<int>& slice_of = {});

// Shares of weights and optimizer state in each plan::Tier.
struct TableTiers {
  std::array<double, 4> weights{1, 0, 0, 0};
  std::array<double, 4> state{1, 0, 0, 0};
};
// Seconds for each byte looked up that the tiers beyond the device take, all read at once.
double tier_seconds(const TableTiers& tiers, const Machine& machine);

// Bytes of one micro-batch of `samples` a rank, as the collectives count them.
struct TableTraffic {
  double index_bytes = 0;
  double vector_bytes = 0;
  double buffers = 0;  // sent and received at once by the busiest rank
};
TableTraffic table_traffic(const TableSlices& slices, double samples, double element);

struct ExchangeSeconds {
  double indices = 0;
  double vectors = 0;  // the gradients' way back takes the same
};
ExchangeSeconds exchange_seconds(const TableSlices& slices, const TableTraffic& traffic,
                                 const Wire& group);

// Kernels of the busiest rank for one micro-batch.
LayerCost table_layer_cost(const model::LayerKind& layer, const KernelModel& kernels,
                           const LayerSplit& split);
// One table's, on a rank that has it.
OperatorCost table_operator_cost(const model::Operator& table, const KernelModel& kernels,
                                 const LayerSplit& split);

// What decides a step's end.
struct TableUse {
  double samples = 0;  // of one group in a step
  double element = 2;  // bytes of an activation
  Wire copies;         // ranks that hold the same slice
  TableTiers tiers;
};
struct TableStep {
  double exchange = 0;   // seconds
  double update = 0;     // seconds
  double gradients = 0;  // bytes kept until the update
  // Bytes of all copies' gradients on the rank that has the most: touched rows that are gathered,
  // and whole tables that are summed.
  double sparse = 0;
  double dense = 0;
  double updated = 0;  // bytes read and written by the update
};
TableStep table_step(const TableSlices& slices, const TableUse& use, const Machine& machine);

}  // namespace nereus::cost
