#include "cluster/cells.hpp"
#include "base/parse_number.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace nereus::cluster {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

const std::string& Cells::Row::text(const char* column) const {
  const int index = csv.find(column);
  if (index < 0) csv.require_all({column});
  return csv.cell(row, index);
}

double Cells::Row::number(const char* column) const {
  const std::string& cell = text(column);
  if (cell.empty()) return 0;
  const std::optional<double> value = parse_number<double>(cell);
  if (!value || !std::isfinite(*value) || *value < 0)
    throw_input_error("cluster.catalogue",
                      fmt::format("\"{}\" in column {} is no number from 0", cell, column),
                      where(column));
  return *value;
}

int Cells::Row::integer(const char* column) const {
  const double value = number(column);
  if (value != std::floor(value) || value > 1e6)
    throw_input_error("cluster.catalogue",
                      fmt::format("{} in column {} is no count", value, column), where(column));
  return static_cast<int>(value);
}

Where Cells::Row::where(const char* column) const {
  return csv.where(row, column == nullptr ? -1 : csv.find(column));
}

}  // namespace nereus::cluster
