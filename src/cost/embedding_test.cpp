#include "cost/embedding.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/random.hpp"
#include "cost/cost_testing.hpp"
#include "cost/layer_cost.hpp"
#include "plan/table_placement.hpp"

namespace nereus::cost::embedding_test {
namespace {

using plan::TableSplit;
using testing::pick;

model::LayerKind layer_of(const model::Model& model) { return model.layer(model.table_layer()); }

model::DlrmShape shape_of(std::vector<std::int64_t> rows, std::vector<int> lookups, int dim) {
  model::DlrmShape shape;
  shape.name = "small";
  shape.rows = std::move(rows);
  shape.lookups = std::move(lookups);
  shape.dim = dim;
  shape.bottom = {dim};
  shape.top = {1};
  return shape;
}

// What every rank sends to every other, counted by single look-ups and vectors. Each sample looks
// up every row of a table equally often, so that blocks of rows get exactly their share.
struct Counted {
  std::vector<std::vector<double>> indices, vectors;  // [from][to], bytes
  explicit Counted(int ranks)
      : indices(static_cast<std::size_t>(ranks),
                std::vector<double>(static_cast<std::size_t>(ranks))),
        vectors(indices) {}
};

Counted count(const model::LayerKind& layer, TableSplit split, int ep, int samples,
              const std::vector<int>& deal, double element) {
  Counted out(ep);
  const auto n = static_cast<std::size_t>(ep);
  for (std::size_t rank = 0; rank < n; ++rank)
    for (int sample = 0; sample < samples; ++sample)
      for (std::size_t t = 0; t < layer.operators.size(); ++t) {
        const model::Operator& table = layer.operators[t];
        const auto rows = static_cast<int>(table.k);
        const int block = (rows + ep - 1) / ep;
        std::set<std::size_t> holders;
        for (int lookup = 0; lookup < static_cast<int>(table.rows); ++lookup) {
          const int row = lookup % rows;
          for (std::size_t holder = 0; holder < n; ++holder) {
            const bool has = split == TableSplit::kColumn ||
                             (split == TableSplit::kRow ? row / block == static_cast<int>(holder)
                                                        : deal[t] == static_cast<int>(holder));
            if (!has) continue;
            holders.insert(holder);
            out.indices[rank][holder] += kIndexBytes;
          }
        }
        for (const std::size_t holder : holders)
          out.vectors[holder][rank] += table.n / (split == TableSplit::kColumn ? ep : 1) * element;
      }
  return out;
}

// The most that any rank sends, or gets, its own part included.
double busiest(const std::vector<std::vector<double>>& bytes) {
  double most = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    double sent = 0;
    double received = 0;
    for (std::size_t j = 0; j < bytes.size(); ++j) {
      sent += bytes[i][j];
      received += bytes[j][i];
    }
    most = std::max({most, sent, received});
  }
  return most;
}

RC_GTEST_PROP(Embedding, ExchangesCarryWhatIsCountedOneByOne, ()) {
  std::vector<std::int64_t> rows;
  std::vector<int> lookups;
  const int tables = *rc::gen::inRange(1, 7);
  for (int i = 0; i < tables; ++i) {
    rows.push_back(*rc::gen::inRange(4, 12));
    lookups.push_back(static_cast<int>(rows.back()) * *rc::gen::inRange(1, 3));
  }
  const int ep = pick({2, 3, 4});
  const int samples = *rc::gen::inRange(1, 4);
  const double element = pick({2.0, 4.0});
  const model::LayerKind layer = layer_of(model::build_dlrm(shape_of(rows, lookups, 48)));
  for (const TableSplit split :
       {TableSplit::kTable, TableSplit::kLookups, TableSplit::kRow, TableSplit::kColumn}) {
    std::vector<int> deal;
    if (plan::keeps_tables_whole(split)) deal = plan::deal_tables(layer, split, ep);
    const Counted counted = count(layer, split, ep, samples, deal, element);
    const TableTraffic traffic = table_traffic(slice_tables(layer, split, ep), samples, element);
    RC_LOG() << "split " << plan::to_string(split) << "\n";
    RC_ASSERT(std::abs(traffic.index_bytes - busiest(counted.indices)) <= 1e-9);
    // Partial sums of all rows' holders go into a reduce-scatter of the whole; the others send what
    // the busiest holder has.
    if (split == TableSplit::kRow)
      RC_ASSERT(traffic.vector_bytes == samples * ep * tables * 48 * element);
    else
      RC_ASSERT(std::abs(traffic.vector_bytes - busiest(counted.vectors)) <= 1e-9);
  }
}

RC_GTEST_PROP(Embedding, SlicesHoldAllTablesOnce, ()) {
  const model::LayerKind layer = layer_of(testing::any_dlrm());
  double weights = 0;
  double state = 0;
  for (const model::Operator& op : layer.operators) {
    weights += op.parameters * op.weight_bytes;
    state += op.parameters * op.state_bytes + op.k * op.row_state_bytes;
  }
  const int ep = pick({1, 2, 4, 7});
  for (const TableSplit split : {TableSplit::kTable, TableSplit::kLookups, TableSplit::kRow}) {
    const TableSlices slices = slice_tables(layer, split, ep);
    double sum = 0;
    double sum_state = 0;
    for (int s = 0; s < ep; ++s) {
      sum += slices.weights[s];
      sum_state += slices.state[s];
      RC_ASSERT(slices.weights[s] <= slices.weights.front());
    }
    RC_ASSERT(std::abs(sum - weights) <= 1e-9 * weights);
    RC_ASSERT(std::abs(sum_state - state) <= 1e-9 * state);
  }
}

// 64 and 128 ranks cannot have four of 128 columns each: they share rows, too.
TEST(Embedding, RowsAreSharedWhereThereAreTooFewColumns) {
  const model::LayerKind layer =
      layer_of(model::build_dlrm(shape_of(std::vector<std::int64_t>(3, 1600), {2}, 128)));
  for (const int ep : {64, 128}) {
    const TableSlices slices = slice_tables(layer, TableSplit::kColumn, ep);
    EXPECT_EQ(slices.columns, 8);
    EXPECT_EQ(slices.rows, ep / 8);
    for (const double bytes : slices.weights) EXPECT_EQ(bytes, 3 * 1600 * 128 * 4 / ep);
    // 10 samples per rank: 10 ep of them look up 3 x 2 rows, of which a rank has 8 / ep.
    const TableTraffic traffic = table_traffic(slices, 10, 2);
    EXPECT_EQ(traffic.index_bytes, 10 * 8 * 6 * kIndexBytes);
    EXPECT_EQ(traffic.vector_bytes, 10 * ep * 3 * 16 * 2);
    // Sums on 8 or 16 neighbors, 8 per node; then each has an eighth of the columns to exchange.
    const Fabric fabric{1e11, 0, 1e10, 0, 8, 0};
    const ExchangeSeconds seconds = exchange_seconds(slices, traffic, {fabric, {ep, 8}});
    const Group neighbors{ep / 8, 8};
    const double sums = reduce_scatter_seconds(fabric, neighbors, traffic.vector_bytes);
    EXPECT_NEAR(seconds.vectors, sums + 7.0 / 8 * 10 * 3 * 128 * 2 / 1e10, 1e-12);
  }
}

// Sorted gradients cost bytes, scattered ones a time per number and multiprocessor.
TEST(Embedding, ScatteredGradientsCostTimePerNumber) {
  const model::LayerKind layer = layer_of(model::build_dlrm(shape_of({1000}, {3}, 64)));
  LayerSplit split;
  split.samples = 50;
  const auto backward = [&](double scatter_rate) {
    Parameters p;
    p.scatter_rate = scatter_rate;
    const KernelModel kernels(testing::plain_device(), p, cluster::Precision::kFp32,
                              plan::Attention::kFlash);
    return table_layer_cost(layer, kernels, split).backward;
  };
  const KernelModel kernels(testing::plain_device(), {}, cluster::Precision::kFp32,
                            plan::Attention::kFlash);
  const double sort = 50 * 3 * 104 / kernels.memory_rate;
  EXPECT_NEAR(backward(0.5) - backward(0), 50 * 3 * 64 / (0.5e9 * 100) - sort, 1e-15);
}

// The bottom MLP runs beside exchanges of vectors and gradients, all other layers beside the
// exchange of the next indices.
TEST(Embedding, OtherLayersRunBesideTheExchanges) {
  model::DlrmShape shape = shape_of({1000, 1000, 1000, 1000}, {50}, 64);
  shape.bottom = {256, 64};
  const model::Model model = model::build_dlrm(shape);
  const int last = model.num_layers() - 1;
  const TableSlices slices = slice_tables(layer_of(model), TableSplit::kTable, 4);
  LayerSplit split;
  split.samples = 4096;
  split.ep = 4;
  split.tables = &slices;
  for (const double alone : {0.0, 1.0})
    for (const double link : {1e8, 1e10, 1e12}) {
      Parameters p;
      p.bottom_alone = alone;
      const KernelModel kernels(testing::plain_device(), p, cluster::Precision::kFp32,
                                plan::Attention::kFlash);
      LayerWires wires;
      wires.experts = {{link, 0, link, 0, 8, 0}, {4, 4}};
      std::vector<KindCost> row(model.kinds.size());
      model_costs(model, kernels, split, wires, row.data());
      LayerSplit group = split;
      group.samples *= 4;
      double beside = 0;
      double whole = 0;
      double behind = 0;
      for (int i = 1; i <= last; ++i) {
        const LayerCost& cost = row[model.layers[i]].cost;
        if (i > 2) behind += cost.forward + cost.backward;
        if (i <= 2) beside += cost.backward;
        if (i <= 2) whole += layer_cost(model.layer(i), kernels, group).backward;
      }
      const KindCost& own = row[model.layers[0]];
      const double vectors =
          alone > 0 ? own.table_vectors + std::max(0.0, whole - own.cost.backward - beside)
                    : std::max(0.0, own.table_vectors - beside);
      EXPECT_NEAR(own.table_backward, vectors + std::max(0.0, own.table_indices - behind), 1e-12)
          << alone << " " << link;
    }
}

TEST(Embedding, RowsOfEqualTablesAreEven) {
  const model::LayerKind layer =
      layer_of(model::build_dlrm(shape_of(std::vector<std::int64_t>(6, 800), {10}, 32)));
  const TableSlices rows = slice_tables(layer, TableSplit::kRow, 8);
  for (const double bytes : rows.weights) EXPECT_EQ(bytes, 6 * 100 * 32 * 4);
  // Each of eight ranks reads an eighth of the look-ups of eight ranks' samples.
  const KernelModel kernels(testing::plain_device(), {}, cluster::Precision::kFp32,
                            plan::Attention::kFlash);
  LayerSplit split;
  split.samples = 64;
  const double alone = table_layer_cost(layer, kernels, split).forward;
  split.ep = 8;
  split.tables = &rows;
  const double shared = table_layer_cost(layer, kernels, split).forward;
  // But it writes partial sums of all samples.
  const double sums = 7 * 64 * 6 * 32 * 4 / kernels.memory_rate;
  EXPECT_NEAR(shared, alone + sums, 1e-15);
}

// Columns of a row that is one granule wide cost as much as all of it.
TEST(Embedding, ShortRowsMoveWholeGranules) {
  const model::LayerKind layer = layer_of(model::build_dlrm(shape_of({1000}, {100}, 16)));
  const KernelModel kernels(testing::plain_device(), {}, cluster::Precision::kFp32,
                            plan::Attention::kFlash);
  const auto moved = [&](int ep) {
    LayerSplit split;
    split.samples = 1.0 / ep;  // the group's samples stay one
    split.ep = ep;
    const TableSlices slices = slice_tables(layer, TableSplit::kColumn, ep);
    split.tables = &slices;
    return operator_cost(layer.operators.front(), kernels, split).bytes;
  };
  const double rows = 100 * kGranule;
  EXPECT_EQ(moved(1), rows + 16 * 4 + 100 * 8);
  EXPECT_EQ(moved(4), rows + 4 * 4 + 100 * 8);
}

// Expected distinct rows against a count of random ones.
TEST(Embedding, TouchedRowsAreThoseOfUniformLookups) {
  const double rows = 500;
  const int lookups = 700;
  Random random(1);
  double sum = 0;
  constexpr int kRounds = 400;
  for (int round = 0; round < kRounds; ++round) {
    std::set<std::int64_t> met;
    for (int i = 0; i < lookups; ++i)
      met.insert(static_cast<std::int64_t>(random.uniform() * rows));
    sum += static_cast<double>(met.size());
  }
  const model::LayerKind layer =
      layer_of(model::build_dlrm(shape_of({static_cast<std::int64_t>(rows)}, {lookups}, 16)));
  TableUse use;
  use.samples = 1;
  use.copies.group = {1, 1};
  Machine machine;
  machine.memory_rate = 1;
  const TableStep step = table_step(slice_tables(layer, TableSplit::kTable, 1), use, machine);
  // 64 bytes of weights and 4 of state, which also move 64: both read and written.
  EXPECT_NEAR(step.update / (2 * (64 + 64)), sum / kRounds, 2);
  EXPECT_EQ(step.exchange, 0);
  EXPECT_EQ(step.updated, step.update);
}

// Of two replicas' gradients, a large table sends only touched rows, a small one the whole table.
TEST(Embedding, CopiesExchangeWhateverIsLess) {
  const model::LayerKind layer = layer_of(model::build_dlrm(shape_of({100'000'000, 10}, {1}, 16)));
  TableUse use;
  use.samples = 1000;
  use.copies.group = {2, 2};
  use.copies.fabric = {1e9, 0, 1e9, 0, 8, 0};
  Machine machine;
  machine.memory_rate = 1e12;
  const TableStep step = table_step(slice_tables(layer, TableSplit::kTable, 1), use, machine);
  EXPECT_EQ(step.dense, 10 * 64);
  EXPECT_NEAR(step.sparse, 2 * 1000 * (8 + 64), 2);  // hardly any row twice
  const double gathered = step.sparse / 2 / 1e9;
  const double summed = 2 * step.dense / 2 / 1e9;
  EXPECT_NEAR(step.exchange, gathered + summed, 1e-15);
}

// LIBRA's DLRM (astra-sim/libra, inputs/workload): an all-to-all of 4,194,304 bytes each way and
// 419,431 ns of look-ups. With 64 tables of 64 columns in 16 bit (see model/dlrm_test.cpp) that is
// 512 samples on each NPU, and 100 look-ups a table at 1 TB/s.
TEST(Embedding, LibrasExchangeAndLookups) {
  model::DlrmShape shape = shape_of(std::vector<std::int64_t>(64, 1'000'000), {100}, 64);
  shape.table_bytes = 2;
  const model::LayerKind layer = layer_of(model::build_dlrm(shape));
  for (const int ep : {2, 8, 64}) {
    const TableSlices slices = slice_tables(layer, TableSplit::kTable, ep);
    EXPECT_EQ(table_traffic(slices, 512, 2).vector_bytes, 4'194'304);
    Parameters p;
    p.memory_efficiency = 1;
    p.kernel_gap = 0;
    cluster::Device device = testing::plain_device();
    device.memory_bandwidth = BytesPerSecond{1e12};
    const KernelModel kernels(device, p, cluster::Precision::kFp16, plan::Attention::kFlash);
    LayerSplit split;
    split.samples = 512;
    split.ep = ep;
    split.tables = &slices;
    const double sums_and_indices = (4'194'304 + 512 * 64 * 100 * 8) / 1e12;
    EXPECT_NEAR(table_layer_cost(layer, kernels, split).forward - sums_and_indices, 419'431e-9,
                1e-9);
  }
}

TEST(Embedding, TablesBeyondTheDeviceAreReadAtTheirTiersRate) {
  const model::LayerKind layer = layer_of(model::build_dlrm(shape_of({1000}, {100}, 64)));
  const KernelModel kernels(testing::plain_device(), {}, cluster::Precision::kFp32,
                            plan::Attention::kFlash);
  LayerSplit split;
  split.samples = 1000;
  Machine machine;
  machine.tiers[static_cast<std::size_t>(plan::Tier::kHost)].rate = 2e10;
  const double bytes = 1000 * 100 * 64 * 4;
  for (const double share : {0.25, 0.5, 1.0}) {
    TableTiers tiers;
    tiers.weights = {1 - share, 0, share, 0};
    split.tier_seconds = tier_seconds(tiers, machine);
    EXPECT_NEAR(table_layer_cost(layer, kernels, split).forward - kernels.gap, share * bytes / 2e10,
                1e-12);
  }
}

// Sharing tables among more ranks never takes more memory for the tables themselves.
RC_GTEST_PROP(EmbeddingProperties, MoreRanksHoldNoMoreEach, ()) {
  const model::LayerKind layer = layer_of(testing::any_dlrm());
  const int ep = pick({1, 2, 4});
  for (const TableSplit split : {TableSplit::kRow, TableSplit::kColumn})
    RC_ASSERT(slice_tables(layer, split, 2 * ep).weights.front() <=
              slice_tables(layer, split, ep).weights.front());
}

}  // namespace
}  // namespace nereus::cost::embedding_test
