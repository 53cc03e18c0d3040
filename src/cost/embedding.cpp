#include "cost/embedding.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "plan/table_placement.hpp"

namespace nereus::cost {

using plan::TableSplit;

namespace {

double in_granules(double bytes) { return std::ceil(bytes / kGranule) * kGranule; }

// The expected number of different rows in `lookups` look-ups over `rows` equally likely rows.
double touched(double rows, double lookups) {
  if (rows <= 1) return std::min(rows, lookups);
  return -rows * std::expm1(lookups * std::log1p(-1 / rows));
}

TablePart part_of(const model::Operator& table, double rows, double columns) {
  TablePart part;
  part.rows = rows;
  part.lookups = table.rows * rows / table.k;
  part.width = columns;
  part.weight_bytes = table.weight_bytes;
  part.state_bytes = columns * table.state_bytes + table.row_state_bytes;
  return part;
}

// Equal tables become one part, so that later sums are short.
void join_equal(std::vector<TablePart>& parts) {
  const auto key = [](const TablePart& p) {
    return std::tie(p.rows, p.lookups, p.width, p.weight_bytes, p.state_bytes);
  };
  std::sort(parts.begin(), parts.end(),
            [&](const TablePart& a, const TablePart& b) { return key(a) > key(b); });
  std::size_t last = 0;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (key(parts[i]) == key(parts[last]))
      ++parts[last].count;
    else
      parts[++last] = parts[i];
  }
  if (!parts.empty()) parts.resize(last + 1);
}

// The load of one sample on a slice.
struct SliceLoad {
  double read = 0;    // bytes of rows, in granules
  double graded = 0;  // bytes of pooled gradients, in granules
  double lookups = 0;
  double elements = 0;  // of the rows looked up
  double vectors = 0;   // elements of pooled vectors
};

SliceLoad busiest(const TableSlices& slices, double element) {
  SliceLoad most;
  for (const std::vector<TablePart>& parts : slices.parts) {
    SliceLoad own;
    for (const TablePart& part : parts) {
      const double lookups = part.count * part.lookups;
      own.read += lookups * in_granules(part.row_bytes());
      own.graded += lookups * in_granules(part.width * element);
      own.lookups += lookups;
      own.elements += lookups * part.width;
      own.vectors += part.count * part.width;
    }
    most.read = std::max(most.read, own.read);
    most.graded = std::max(most.graded, own.graded);
    most.lookups = std::max(most.lookups, own.lookups);
    most.elements = std::max(most.elements, own.elements);
    most.vectors = std::max(most.vectors, own.vectors);
  }
  return most;
}

// Seconds of the kernels that `samples` of a group need.
void add_kernels(const SliceLoad& load, double samples, const KernelModel& kernels,
                 const LayerSplit& split, OperatorCost& cost) {
  const double indices = load.lookups * kIndexBytes;
  const double rows = samples * load.read;
  const double streamed = samples * (load.vectors * kernels.element + indices);
  cost.bytes = rows + streamed;
  cost.forward =
      std::max(cost.bytes / kernels.memory_rate, rows * split.tier_seconds) + kernels.gap;
  const double sorted = kernels.scatter > 0 ? 0 : load.lookups * kSortBytes;
  cost.backward = samples * (load.graded + indices + sorted) / kernels.memory_rate +
                  samples * load.elements * kernels.scatter + 2 * kernels.gap;
  cost.saved = samples * indices;
}

}  // namespace

TableSlices slice_tables(const model::LayerKind& layer, TableSplit split, int num_slices,
                         const std::vector<int>& slice_of) {
  TableSlices out;
  out.split = split;
  out.num_slices = num_slices;
  const auto size = static_cast<std::size_t>(num_slices);
  out.weights.resize(size);
  out.state.resize(size);
  const auto hold = [&](std::size_t slice, const TablePart& part) {
    out.weights[slice] += part.rows * part.row_bytes();
    out.state[slice] += part.rows * part.state_bytes;
  };
  const bool whole = plan::keeps_tables_whole(split);
  if (split == TableSplit::kColumn) {
    const int parts = plan::column_parts(layer, num_slices);
    out.columns = parts > 0 ? parts : num_slices;
  }
  if (!whole) out.rows = num_slices / out.columns;
  const std::vector<int> dealt =
      whole && slice_of.empty() ? plan::deal_tables(layer, split, num_slices) : slice_of;
  out.parts.resize(whole ? size : 1);
  for (std::size_t i = 0; i < layer.operators.size(); ++i) {
    const model::Operator& table = layer.operators[i];
    out.lookups += table.rows;
    out.vectors += table.n;
    if (whole) {
      const auto slice = static_cast<std::size_t>(dealt[i]);
      const TablePart part = part_of(table, table.k, table.n);
      out.parts[slice].push_back(part);
      hold(slice, part);
      continue;
    }
    for (int s = 0; s < num_slices; ++s) {
      const double rows = out.rows > 1 ? plan::held_rows(table.k, out.rows, s % out.rows) : table.k;
      const TablePart part = part_of(table, rows, table.n / out.columns);
      if (s == 0) out.parts.front().push_back(part);
      hold(static_cast<std::size_t>(s), part);
    }
  }
  for (std::vector<TablePart>& parts : out.parts) join_equal(parts);
  return out;
}

double tier_seconds(const TableTiers& tiers, const Machine& machine) {
  double seconds = 0;
  for (std::size_t t = 1; t < tiers.weights.size(); ++t)
    if (const double rate = machine.tiers[t].rate; tiers.weights[t] > 0 && rate > 0)
      seconds = std::max(seconds, tiers.weights[t] / rate);
  return seconds;
}

TableTraffic table_traffic(const TableSlices& slices, double samples, double element) {
  TableTraffic traffic;
  if (slices.num_slices <= 1) return traffic;
  const SliceLoad load = busiest(slices, element);
  const double group = samples * slices.num_slices;
  const double own = samples * slices.lookups * kIndexBytes;
  const double met = group * load.lookups * kIndexBytes;
  traffic.index_bytes = slices.split == TableSplit::kColumn ? met : std::max(own, met);
  traffic.vector_bytes = group * load.vectors * element;
  traffic.buffers = own + met + traffic.vector_bytes + samples * slices.vectors * element;
  return traffic;
}

ExchangeSeconds exchange_seconds(const TableSlices& slices, const TableTraffic& traffic,
                                 const Wire& wire) {
  const auto& [fabric, group] = wire;
  if (slices.split == TableSplit::kRow)
    return {all_to_all_seconds(fabric, group, traffic.index_bytes),
            reduce_scatter_seconds(fabric, group, traffic.vector_bytes)};
  if (slices.split != TableSplit::kColumn)
    return {all_to_all_seconds(fabric, group, traffic.index_bytes),
            all_to_all_seconds(fabric, group, traffic.vector_bytes)};
  if (slices.rows == 1)
    return {all_gather_seconds(fabric, group, traffic.index_bytes),
            all_to_all_seconds(fabric, group, traffic.vector_bytes)};
  const Group neighbors{slices.rows, std::min(slices.rows, group.per_node)};
  const Group others{slices.columns, std::max(1, group.per_node / slices.rows)};
  return {all_to_all_seconds(fabric, group, traffic.index_bytes),
          reduce_scatter_seconds(fabric, neighbors, traffic.vector_bytes) +
              all_to_all_seconds(fabric, others, traffic.vector_bytes / slices.rows)};
}

LayerCost table_layer_cost(const model::LayerKind& layer, const KernelModel& kernels,
                           const LayerSplit& split) {
  TableSlices dealt;
  if (split.tables == nullptr) dealt = slice_tables(layer, TableSplit::kTable, split.ep);
  const TableSlices& slices = split.tables != nullptr ? *split.tables : dealt;
  OperatorCost kernel_cost;
  add_kernels(busiest(slices, kernels.element), split.samples * slices.num_slices, kernels, split,
              kernel_cost);
  LayerCost cost;
  cost.launches = launches_of(layer);
  cost.forward = kernel_cost.forward;
  cost.backward = kernel_cost.backward;
  cost.saved = kernel_cost.saved;
  cost.saved_input = kernel_cost.saved;
  for (const std::vector<TablePart>& parts : slices.parts) {
    double held = 0;
    for (const TablePart& part : parts) held += part.count * part.rows * part.width;
    cost.table_parameters = std::max(cost.table_parameters, held);
  }
  cost.num_kernels = 1;
  cost.message = layer.output_elements * split.samples * kernels.element;
  cost.transient = 2 * cost.message;
  return cost;
}

OperatorCost table_operator_cost(const model::Operator& table, const KernelModel& kernels,
                                 const LayerSplit& split) {
  const int blocks = split.tables != nullptr ? split.tables->rows : 1;
  const double rows = blocks > 1 ? plan::held_rows(table.k, blocks, 0) : table.k;
  const double width = split.tables != nullptr ? table.n / split.tables->columns : table.n;
  TableSlices one;
  one.parts = {{part_of(table, rows, width)}};
  OperatorCost cost;
  add_kernels(busiest(one, kernels.element), split.samples * split.ep, kernels, split, cost);
  cost.flops = one.parts[0][0].lookups * width * split.samples * split.ep;
  cost.parameters = rows * width;
  return cost;
}

TableStep table_step(const TableSlices& slices, const TableUse& use, const Machine& machine) {
  TableStep step;
  const auto& [fabric, copies] = use.copies;
  const double num_copies = copies.size;
  for (const std::vector<TablePart>& parts : slices.parts) {
    double sparse = 0;
    double dense = 0;
    double rows = 0;  // bytes read and written, of weights and of state
    double state = 0;
    double vectors = 0;
    for (const TablePart& part : parts) {
      const double lookups = use.samples * part.lookups;
      vectors += part.count * part.width;
      if (copies.size > 1) {
        const double own = touched(part.rows, lookups) * (kIndexBytes + part.row_bytes());
        const double whole = part.rows * part.row_bytes();
        // An all-gather moves (copies - 1) own, an all-reduce 2 (copies - 1) / copies of the whole.
        (num_copies * own <= 2 * whole ? sparse : dense) +=
            part.count * (num_copies * own <= 2 * whole ? num_copies * own : whole);
      }
      const double met = part.count * touched(part.rows, lookups * num_copies);
      rows += 2 * met * in_granules(part.row_bytes());
      state += 2 * met * in_granules(part.state_bytes);
    }
    double update = (rows + state) / machine.memory_rate;
    for (std::size_t t = 1; t < machine.tiers.size(); ++t)
      if (const double rate = machine.tiers[t].rate; rate > 0)
        update =
            std::max(update, (use.tiers.weights[t] * rows + use.tiers.state[t] * state) / rate);
    const double exchange = (sparse > 0 ? all_gather_seconds(fabric, copies, sparse) : 0) +
                            (dense > 0 ? all_reduce_seconds(fabric, copies, dense) : 0);
    step.update = std::max(step.update, update);
    step.exchange = std::max(step.exchange, exchange);
    step.gradients = std::max(step.gradients, use.samples * vectors * use.element);
    step.updated = std::max(step.updated, rows + state);
    if (sparse + dense > step.sparse + step.dense) {
      step.sparse = sparse;
      step.dense = dense;
    }
  }
  return step;
}

}  // namespace nereus::cost
