#include "plan/table_placement.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

#include "base/error.hpp"

namespace nereus::plan {

double table_bytes(const model::Operator& table) {
  return table.parameters * (table.weight_bytes + table.state_bytes) +
         table.k * table.row_state_bytes;
}

std::vector<int> deal_tables(const model::LayerKind& layer, TableSplit split, int num_slices) {
  NEREUS_CHECK(keeps_tables_whole(split) && num_slices >= 1, "whole tables are dealt to slices");
  const std::vector<model::Operator>& tables = layer.operators;
  const bool by_bytes = split == TableSplit::kTable;
  // The load, and the tie-breaker.
  const auto load_of = [&](std::size_t i) {
    const double bytes = table_bytes(tables[i]);
    const double lookups = tables[i].rows * tables[i].n;
    return by_bytes ? std::pair(bytes, lookups) : std::pair(lookups, bytes);
  };
  std::vector<std::size_t> order(tables.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return load_of(a) > load_of(b); });

  using Load = std::tuple<double, double, int>;  // the same of a slice, and its number
  std::priority_queue<Load, std::vector<Load>, std::greater<>> least;
  for (int s = 0; s < num_slices; ++s) least.emplace(0, 0, s);
  std::vector<int> slice_of(tables.size());
  std::vector<double> bytes(static_cast<std::size_t>(num_slices));
  for (const std::size_t i : order) {
    const auto [first, second, slice] = least.top();
    least.pop();
    const auto [more, tie] = load_of(i);
    least.emplace(first + more, second + tie, slice);
    slice_of[i] = slice;
    bytes[slice] += table_bytes(tables[i]);
  }

  std::vector<int> fullest(bytes.size());
  std::iota(fullest.begin(), fullest.end(), 0);
  std::stable_sort(fullest.begin(), fullest.end(),
                   [&](int a, int b) { return bytes[a] > bytes[b]; });
  std::vector<int> number(bytes.size());
  for (std::size_t n = 0; n < fullest.size(); ++n) number[fullest[n]] = static_cast<int>(n);
  for (int& slice : slice_of) slice = number[slice];
  return slice_of;
}

}  // namespace nereus::plan
