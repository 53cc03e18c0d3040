// The built-in tables of data/stash. Only for use inside reproduce/.
//
//   const StashTable table("instances.csv");
//   for (const spec::CsvRow& row : table.rows()) table.number(row, "usd_per_hour");
#pragma once

#include <optional>
#include <string>

#include "spec/csv.hpp"

namespace nereus::app {

class StashTable {
 public:
  explicit StashTable(const std::string& file);
  const std::vector<spec::CsvRow>& rows() const { return csv_.rows; }
  const std::string& text(const spec::CsvRow& row, const char* column) const;
  // Empty if the cell is not a single number: "8-128 MB", "up to 10".
  std::optional<double> number(const spec::CsvRow& row, const char* column) const;

 private:
  spec::Csv csv_;
};

}  // namespace nereus::app
