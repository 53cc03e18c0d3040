// What was read and is written again must be read the same, and every cell must have a place.
#include "fuzz.hpp"
#include "spec/csv.hpp"

namespace {

using namespace nereus;

std::string write(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += ',';
    line += spec::write_csv_cell(cells[i]);
  }
  // A row of one empty cell would be a blank line, which is skipped.
  return (line.empty() ? "\"\"" : line) + "\n";
}

}  // namespace

NEREUS_FUZZER(csv)(const std::uint8_t* data, std::size_t size) {
  return fuzz(data, size, [](std::string_view text) {
    const spec::Csv csv = spec::parse_csv(text, "fuzz.csv");
    // A blank line first: a byte order mark there is text, at the very start it is dropped.
    std::string written = "\n" + write(csv.columns);
    for (const spec::CsvRow& row : csv.rows) {
      NEREUS_CHECK(row.cells.size() == csv.columns.size(), "a ragged row");
      written += write(row.cells);
    }
    const spec::Csv back = spec::parse_csv(written, "back.csv");
    NEREUS_CHECK(back.columns == csv.columns && back.rows.size() == csv.rows.size(), "rows differ");
    for (std::size_t i = 0; i < csv.rows.size(); ++i)
      NEREUS_CHECK(back.rows[i].cells == csv.rows[i].cells, "cells differ");
    if (csv.rows.empty()) return;
    const spec::CsvRow& last = csv.rows.back();  // a place is found by a walk from the start
    for (int column = -1; column < static_cast<int>(csv.columns.size()) && column < 50; ++column)
      NEREUS_CHECK(csv.where(last, column).line >= last.line, "a cell before its row");
    csv.require_all({"layers", "gpus"});
  });
}
