// CSV with a header line (RFC 4180: quoted fields that may contain commas and line ends, doubled
// quotes, LF or CRLF). Keeps the line number of every row.
//
//   Csv csv = read_csv("runs.csv");
//   csv.require_all({"gpus", "layers"});     // throws one Errors that names every missing column
//   const int gpus = csv.find("gpus");
//   for (const CsvRow& row : csv.rows)
//     if (csv.cell(row, gpus).empty()) errors.add("...", "...", csv.where(row, gpus));
//
// Every row must have as many cells as there are columns. Empty lines are skipped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "spec/source.hpp"

namespace nereus::spec {

struct CsvRow {
  int line = 0;  // where it starts, counted from 1
  std::vector<std::string> cells;
};

struct Csv {
  std::string file;
  std::vector<std::string> columns;
  std::vector<CsvRow> rows;
  SourcePtr source;

  int find(std::string_view column) const;  // -1 if absent
  // Throws one Errors that lists every missing column.
  void require_all(const std::vector<std::string>& names) const;
  const std::string& cell(const CsvRow& row, int column) const;  // empty string for column = -1
  // The place of a cell with its line; of the whole row if column = -1.
  Where where(const CsvRow& row, int column = -1) const;
};

// An unclosed quote, text after a closing quote, a row with the wrong number of cells, a duplicate
// column and an empty file are Errors.
Csv parse_csv(std::string_view text, const std::string& file);
Csv read_csv(const std::string& path);

// A cell in the form of a CSV file: quoted only if necessary.
std::string write_csv_cell(std::string_view text);

}  // namespace nereus::spec
