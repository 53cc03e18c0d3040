// An answer in one form that every format is made from: JSON here (render_json), text, CSV and
// Markdown in cli/text/output.hpp.
//
//   Table table{.name = "nodes",
//               .columns = {{"name", "node"}, {"memory_bytes", "memory", Unit::kBytes}}};
//   table.rows.push_back({"dgx-h100", 80e9});
//   caller.answer(Report{{table}}, options);
//
// Cells hold raw SI numbers. People read them scaled with a unit ("74.5 GiB"), machines raw under
// the column's key, which carries the unit ("memory_bytes"). A column of numbers is right-aligned,
// any other left-aligned.
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
  double number() const;  // 0 where there is none
};

struct Column {
  std::string key;    // in CSV and JSON
  std::string title;  // for people
  Unit unit = Unit::kNone;
  bool bar = false;   // a share: draw it too
  bool wrap = false;  // long text goes on in further lines instead of being cut
  int rank = 0;       // in narrow terminals columns of the highest rank go first; 0 stays
};

struct Table {
  std::string name;  // key in JSON; empty puts a record's fields at the top
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  bool record = false;             // one row, shown as a list of fields
  std::vector<std::string> notes;  // for people only
};

struct Report {
  std::vector<Table> tables = {};  // CSV shows the first
  std::string json = {};           // one object, where the tables are not the whole story
  std::string text = {};           // for people, instead of tables: files, a command line
};

enum class Format { kTable, kJson, kCsv, kMarkdown };

// How a command line wants the answer; other faces take JSON.
struct OutputOptions {
  Format format = Format::kTable;
  std::string file = {};  // -o; empty = stdout
};

// One object: each table an array of objects under its name, each record an object; raw SI numbers.
std::string render_json(const Report& report);

// One cell as people read it; control characters are replaced.
std::string cell_text(const Cell& cell, const Column& column);
// A cell in JSON: "null", a number, a quoted text. What a CSV field without quotes says too.
std::string cell_json(const Cell& cell);

}  // namespace nereus::api
