#include "plan/table_placement.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>
#include <tuple>

#include "base/error.hpp"

namespace nereus::plan {

double table_bytes(const model::Operator& table) {
  return table.parameters * (table.weight_bytes + table.state_bytes) +
         table.k * table.row_state_bytes;
}

double table_load(const model::Operator& table) { return table.n * (table.rows + kExchangedRows); }

namespace {

// What a table adds to a slice: what is balanced, what breaks ties, and bytes.
struct Load {
  double first = 0;
  double second = 0;
  double bytes = 0;
};

double most_of(const std::vector<Load>& loads, const std::vector<int>& slice_of, int num_slices,
               double Load::*what) {
  std::vector<double> sums(static_cast<std::size_t>(num_slices));
  for (std::size_t i = 0; i < loads.size(); ++i) sums[slice_of[i]] += loads[i].*what;
  return *std::max_element(sums.begin(), sums.end());
}

// The largest remaining table goes to the slice with the smallest load that has room for it. Empty
// if there is none.
std::vector<int> deal(const std::vector<Load>& loads, int num_slices, double room) {
  std::vector<std::size_t> order(loads.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(loads[a].first, loads[a].second) > std::tie(loads[b].first, loads[b].second);
  });
  using Slice = std::tuple<double, double, int>;  // its load, and its number
  std::priority_queue<Slice, std::vector<Slice>, std::greater<>> least;
  for (int s = 0; s < num_slices; ++s) least.emplace(0, 0, s);
  std::vector<double> bytes(static_cast<std::size_t>(num_slices));
  std::vector<int> slice_of(loads.size());
  std::vector<Slice> passed_over;
  for (const std::size_t i : order) {
    const auto has_room = [&](const Slice& s) {
      return bytes[std::get<int>(s)] + loads[i].bytes <= room;
    };
    while (!least.empty() && !has_room(least.top())) {
      passed_over.push_back(least.top());
      least.pop();
    }
    if (least.empty()) return {};
    const auto [first, second, slice] = least.top();
    least.pop();
    least.emplace(first + loads[i].first, second + loads[i].second, slice);
    for (const Slice& s : passed_over) least.push(s);
    passed_over.clear();
    slice_of[i] = slice;
    bytes[slice] += loads[i].bytes;
  }
  return slice_of;
}

std::vector<Load> loads_of(const model::LayerKind& layer, double (*first)(const model::Operator&),
                           double (*second)(const model::Operator&)) {
  std::vector<Load> loads;
  for (const model::Operator& table : layer.operators)
    loads.push_back({first(table), second(table), table_bytes(table)});
  return loads;
}

double looked_up(const model::Operator& table) { return table.rows * table.n; }

std::vector<int> deal_by_time(const model::LayerKind& layer, int num_slices) {
  const double any = std::numeric_limits<double>::infinity();
  const std::vector<Load> bytes = loads_of(layer, table_bytes, looked_up);
  std::vector<int> by_bytes = deal(bytes, num_slices, any);
  const std::vector<Load> loads = loads_of(layer, table_load, table_bytes);
  const double room = kTableRoom * most_of(loads, by_bytes, num_slices, &Load::bytes);
  std::vector<int> by_time = deal(loads, num_slices, room);
  const auto busiest = [&](const std::vector<int>& slice_of) {
    return most_of(loads, slice_of, num_slices, &Load::first);
  };
  return by_time.empty() || busiest(by_time) > busiest(by_bytes) ? by_bytes : by_time;
}

}  // namespace

std::vector<int> deal_tables(const model::LayerKind& layer, TableSplit split, int num_slices) {
  NEREUS_CHECK(keeps_tables_whole(split) && num_slices >= 1, "whole tables are dealt to slices");
  std::vector<int> slice_of = split == TableSplit::kTable
                                  ? deal_by_time(layer, num_slices)
                                  : deal(loads_of(layer, looked_up, table_bytes), num_slices,
                                         std::numeric_limits<double>::infinity());

  std::vector<double> bytes(static_cast<std::size_t>(num_slices));
  for (std::size_t i = 0; i < slice_of.size(); ++i)
    bytes[slice_of[i]] += table_bytes(layer.operators[i]);
  std::vector<int> fullest(bytes.size());
  std::iota(fullest.begin(), fullest.end(), 0);
  std::stable_sort(fullest.begin(), fullest.end(),
                   [&](int a, int b) { return bytes[a] > bytes[b]; });
  std::vector<int> number(bytes.size());
  for (std::size_t n = 0; n < fullest.size(); ++n) number[fullest[n]] = static_cast<int>(n);
  for (int& slice : slice_of) slice = number[slice];
  return slice_of;
}

int column_parts(int dim, int ep) {
  if (dim <= 0) return 0;
  if (dim % ep == 0 && dim / ep >= kLeastColumns) return ep;
  constexpr int kWhole = 16;  // columns that fill one access
  for (const int least : {kWhole, kLeastColumns})
    for (int c = std::min(ep, dim / least); c > 1; --c)
      if (ep % c == 0 && dim % c == 0) return c;
  return 0;
}

int column_parts(const model::LayerKind& layer, int ep) {
  int dim = 0;
  for (const model::Operator& table : layer.operators)
    dim = std::gcd(dim, static_cast<int>(table.n));
  return column_parts(dim, ep);
}

}  // namespace nereus::plan
