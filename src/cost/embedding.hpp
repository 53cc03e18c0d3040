// Embedding tables of recommendation models that ep ranks share: look-ups, exchanges, sparse
// updates, memory. A group of ep ranks holds one copy of the tables. Each rank has b samples of a
// micro-batch, the group has B = ep b.
//
// Look-ups are memory bound: each reads its row, in whole granules of 64 bytes (an access to
// high-bandwidth memory moves no less), wherever the row lies:
//   forward  = max((bytes + pooled sums written) / memory rate, tier share x bytes / tier rate)
//              Rows in an offload tier are read in place, one by one (UVM), concurrently with the
//              rows on the device; the total is never faster than if all rows were on the device
//   backward = the pooled gradient is read for every look-up, in the order of rows. To find that
//              order, indices of 8 bytes are sorted with positions of 4: one pass counts digits of 8
//              bits, and for each of 4 digits both are read and written (Adinets and Merrill 2022,
//              2206.01784), 104 bytes per look-up. FBGEMM and HugeCTR then update each row once.
//   scattered  Other software (nn.Embedding with sparse gradients, tf.gather) adds every look-up's
//              gradient to its row with atomics, D per look-up, which multiprocessors send to the
//              cache at scatter_rate each, whatever the bandwidth of the memory. With 512-byte rows
//              index_add_ of PyTorch 2.11 reached 0.69 G/s per multiprocessor on an H200 (366 GB/s
//              of gradients), as much with 128-byte rows and where those look-ups are skewed; rows
//              of 16 to 64 bytes reached 57 to 90 % of that
// Rows that stay in a cache cost less; this is not modeled.
//
// Exchanges, with 8 bytes per index, L look-ups and D columns per table, e bytes per activation:
//   whole tables   indices all-to-all: the larger of what a rank sends, b sum L 8, and what the
//                  busiest holder receives, B 8 x the sum of L over its tables; pooled vectors
//                  back, all-to-all: B e x the sum of D over its tables
//   rows           indices as above (look-ups are spread like rows); partial sums of all vectors
//                  go through a reduce-scatter of B sum D e; gradients come back in an all-gather
//                  of the same size
//   columns        indices all-gathered, B sum L 8; slices of vectors all-to-all, B sum D e / ep.
//   and rows       where c ranks share the columns and g = ep / c neighbors the rows (plan/
//                  table_placement.hpp): indices all-to-all, B sum L 8 / g; partial sums of B sum
//                  D e / c in a reduce-scatter of the g; then slices of vectors all-to-all among c,
//                  B sum D e / ep
// The backward pass sends gradients where forward sent vectors, and no indices. Those of the next
// batch are sent while this one computes (TorchRec's TrainPipelineSparseDist, HugeCTR's
// train_inter_iteration_overlap; DeepLearningExamples reads them where the tables are), so only
// what is longer than the layers behind the tables counts. The bottom MLP runs concurrently with
// the exchange of vectors (forward) and of gradients (backward): the longer of the two counts.
// DeepLearningExamples' PyTorch computes it on one rank for all samples instead (bottom_alone):
// then the longer of this and of the other ranks' look-ups counts, and exchanges come after it.
// Collectives wait for all ranks, so the busiest rank decides each of these amounts.
//
// Once per step: if the group made n look-ups per table, uniformly over R rows,
//   touched  = R (1 - (1 - 1/R)^n)
// different rows are read (skewed look-ups touch fewer). Replicas of the tables (dp / ep of them)
// exchange touched rows and indices in an all-gather, or the whole table's gradient in an
// all-reduce if that moves fewer bytes. This exchange overlaps with nothing, since these gradients
// are ready last. Then
//   update   = rows touched by all replicas x 2 (row + its state), in granules, in their memory
// Until then, gradients are kept as pooled vectors: B D e bytes per micro-batch.
//
// Monotone: all of this is bytes over rates, and alternatives are chosen by bytes only. A faster
// bottom MLP hides less, but what it no longer hides is at most the time that it saves.
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
inline constexpr double kGranule = 64;  // smallest number of bytes that one access moves
// Sorting a look-up's index of 8 bytes and its position of 4 by 32 bits, 8 at a time.
inline constexpr double kSortBytes = 8 + 4 * 2 * (8 + 4);

// The part of `count` equal tables that one slice has.
struct TablePart {
  double rows = 0;
  double lookups = 0;  // per sample
  double width = 0;    // columns
  double weight_bytes = 0;
  double state_bytes = 0;  // optimizer state of one row
  double count = 1;
  double row_bytes() const { return width * weight_bytes; }
};

struct TableSlices {
  plan::TableSplit split = plan::TableSplit::kTable;
  int num_slices = 1;
  int columns = 1;  // number of parts that the columns of a table are cut into
  int rows = 1;     // number of blocks of rows, if tables do not stay whole
  // Every slice that may be the busiest: all of them if tables stay whole, else the first.
  std::vector<std::vector<TablePart>> parts;
  std::vector<double> weights;  // bytes per slice
  std::vector<double> state;    // bytes of optimizer state per slice
  double lookups = 0;           // per sample, in all tables
  double vectors = 0;           // elements of one sample's pooled vectors
};

// `slice_of` says which slice has each whole table; empty: as plan/table_placement.hpp assigns
// them.
TableSlices slice_tables(const model::LayerKind& layer, plan::TableSplit split, int num_slices,
                         const std::vector<int>& slice_of = {});

// Shares of weights and optimizer state in each plan::Tier.
struct TableTiers {
  std::array<double, 4> weights{1, 0, 0, 0};
  std::array<double, 4> state{1, 0, 0, 0};
};
// Seconds per byte looked up in the offload tiers, which are all read at the same time.
double tier_seconds(const TableTiers& tiers, const Machine& machine);

// Bytes of one micro-batch of `samples` samples per rank, as the collectives count them.
struct TableTraffic {
  double index_bytes = 0;
  double vector_bytes = 0;
  double buffers = 0;  // sent and received concurrently by the busiest rank
};
TableTraffic table_traffic(const TableSlices& slices, double samples, double element);

struct ExchangeSeconds {
  double indices = 0;
  double vectors = 0;  // gradients take the same time on the way back
};
ExchangeSeconds exchange_seconds(const TableSlices& slices, const TableTraffic& traffic,
                                 const Wire& group);

// Kernels of the busiest rank for one micro-batch.
LayerCost table_layer_cost(const model::LayerKind& layer, const KernelModel& kernels,
                           const LayerSplit& split);
// Cost of one table, on a rank that has it.
OperatorCost table_operator_cost(const model::Operator& table, const KernelModel& kernels,
                                 const LayerSplit& split);

// The work of the tables at the end of a step.
struct TableUse {
  double samples = 0;  // per group and step
  double element = 2;  // bytes per activation
  Wire copies;         // of the ranks that hold the same slice
  TableTiers tiers;
};
struct TableStep {
  double exchange = 0;   // seconds
  double update = 0;     // seconds
  double gradients = 0;  // bytes kept until the update
  // Bytes of all replicas' gradients on the rank that has the most: touched rows that are gathered,
  // and whole tables that are all-reduced.
  double sparse = 0;
  double dense = 0;
  double updated = 0;  // bytes read and written by the update
};
TableStep table_step(const TableSlices& slices, const TableUse& use, const Machine& machine);

}  // namespace nereus::cost
