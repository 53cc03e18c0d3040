// CSV with a header line (RFC 4180: quoted fields, doubled quotes, CRLF), keeping the line of every row.
//
//   Csv csv = read_csv("runs.csv");
//   std::size_t gpus = csv.require("gpus");          // throws Errors naming all missing columns via require_all
//   csv.rows[0].cells[gpus];
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace nereus::spec {

struct CsvRow {
  int line = 0;  // where it starts, counted from 1
  std::vector<std::string> cells;
};

struct Csv {
  std::string file;
  std::vector<std::string> columns;
  std::vector<CsvRow> rows;

  int find(std::string_view column) const;  // -1 where absent
  void require_all(const std::vector<std::string>& names) const;  // throws one Errors naming every missing column
  const std::string& cell(const CsvRow& row, int column) const;   // empty string for column = -1
};

Csv parse_csv(std::string_view text, const std::string& file);
Csv read_csv(const std::string& path);

}  // namespace nereus::spec
