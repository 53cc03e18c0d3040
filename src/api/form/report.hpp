// An answer in the one form that all output formats are made from: JSON here (render_json); text,
// CSV and Markdown in cli/text/output.hpp.
//
//   Table table{.name = "nodes",
//               .columns = {{"name", "node"}, {"memory_bytes", "memory", Unit::kBytes}}};
//   table.rows.push_back({"dgx-h100", 80e9});
//   caller.answer(Report{{table}}, options);
//
// Cells hold raw SI numbers. Tables for people show them scaled, with a unit ("74.5 GiB").
// Machine-readable formats have the raw number under the column's key, which carries the unit
// ("memory_bytes"). Columns of numbers are right-aligned, others left-aligned.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/format.hpp"

namespace nereus::api {

struct Cell {
  std::variant<std::monostate, std::string, double, std::int64_t, bool> value;

  Cell() = default;  // nothing known: "-", null, empty
  Cell(std::string text) : value(std::move(text)) {}
  Cell(const char* text) : value(std::string(text)) {}
  Cell(bool yes) : value(yes) {}
  Cell(std::integral auto number) : value(static_cast<std::int64_t>(number)) {}
  Cell(double number) : value(number) {}

  bool is_number() const { return value.index() == 2 || value.index() == 3; }
  double number() const;  // 0 if there is none
};

struct Column {
  std::string key;    // in CSV and JSON
  std::string title;  // for people
  Unit unit = Unit::kNone;
  bool bar = false;   // a share: also draw it as a bar
  bool wrap = false;  // long text continues on further lines instead of being cut
  int rank = 0;  // narrow terminals drop the columns with the highest rank first; 0 always stays
};

struct Table {
  std::string name;  // key in JSON; if empty, a record's fields are at the top level
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  bool record = false;             // one row, shown as a list of fields
  std::vector<std::string> notes;  // for people only
};

struct Report {
  std::vector<Table> tables = {};  // CSV shows the first
  std::string json = {};           // one object, if the tables do not hold everything
  std::string text = {};           // for people, instead of tables: files, a command line
};

enum class Format { kTable, kJson, kCsv, kMarkdown };

// The output options of a command line; other callers get JSON.
struct OutputOptions {
  Format format = Format::kTable;
  std::string file = {};  // -o; empty = stdout
};

// One object: each table is an array of objects under its name, each record an object. Numbers are
// raw SI.
std::string render_json(const Report& report);

// One cell as people read it; control characters are replaced.
std::string cell_text(const Cell& cell, const Column& column);
// A cell in JSON: "null", a number, or a quoted text. CSV uses the same text without quotes.
std::string cell_json(const Cell& cell);

}  // namespace nereus::api
