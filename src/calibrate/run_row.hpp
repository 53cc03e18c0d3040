// One row of a table of runs, read by the names of its columns.
//
//   Row row(csv, csv.rows[0]);
//   const int tp = row.count("tp", 1);
//   if (!row.bad().empty()) ...                 // "tp is not a whole number of 1 to 1000000000"
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/parse_number.hpp"
#include "spec/csv.hpp"

namespace nereus::calibrate {

// If a cell should be a number and is not, this becomes the reason to skip the row.
class Row {
 public:
  Row(const spec::Csv& csv, const spec::CsvRow& row) : csv_(csv), row_(row) {}
  std::string_view text(std::string_view column) const {
    return csv_.cell(row_, csv_.find(column));
  }
  bool has(std::string_view column) const { return csv_.find(column) >= 0; }
  bool blank(std::string_view column) const { return text(column).empty(); }
  double number(std::string_view column, double fallback = 0) {
    const std::string_view cell = text(column);
    if (cell.empty()) return fallback;
    const std::optional<double> value = parse_number<double>(cell);
    if (!value || !std::isfinite(*value)) {
      bad_ = fmt::format("{} is not a number", column);
      return fallback;
    }
    return *value;
  }
  int count(std::string_view column, int fallback, int least = 1, int most = 1'000'000'000) {
    const double value = number(column, fallback);
    if (value != std::floor(value) || value < least || value > most) {
      bad_ = fmt::format("{} is not a whole number of {} to {}", column, least, most);
      return fallback;
    }
    return static_cast<int>(value);
  }
  // One of the known words; blank gives the fallback, anything else is a reason to skip.
  std::string_view word(std::string_view column, std::string_view fallback,
                        std::initializer_list<std::string_view> known) {
    const std::string_view cell = text(column);
    if (cell.empty()) return fallback;
    if (std::find(known.begin(), known.end(), cell) != known.end()) return cell;
    bad_ = fmt::format("{} = {} is none of {}", column, cell, fmt::join(known, ", "));
    return fallback;
  }
  bool yes(std::string_view column, bool fallback) const {
    const std::string_view cell = text(column);
    return cell == "yes" ? true : cell == "no" ? false : fallback;
  }
  const std::string& bad() const { return bad_; }

 private:
  const spec::Csv& csv_;
  const spec::CsvRow& row_;
  std::string bad_;
};

}  // namespace nereus::calibrate
