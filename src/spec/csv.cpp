#include "spec/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/format.hpp"
#include "base/nearest.hpp"
#include "base/utf8.hpp"

namespace nereus::spec {

namespace {

// A file with the wrong separator is ragged in every row; the first few say it all.
constexpr std::size_t kMostRaggedRowsReported = 10;

// Columns count characters, not bytes.
int column_of(const char* line_begin, const char* at) {
  return 1 +
         static_cast<int>(std::count_if(line_begin, at, [](char c) { return !continues_utf8(c); }));
}

enum class Ended { kCell, kRow, kFile };

// Scans the cells of a text in one pass. Shared by the parser and by Csv::where.
class CellScanner {
 public:
  CellScanner(const Source& source, const char* at, int line)
      : source_(source),
        at_(at),
        end_(source.text.data() + source.text.size()),
        line_(line),
        line_begin_(at) {}

  bool done() const { return at_ == end_; }
  const char* at() const { return at_; }
  int line() const { return line_; }

  // Reads one cell into `cell` and says what came after it.
  Ended next(std::string& cell) {
    cell.clear();
    if (at_ < end_ && *at_ == '"')
      quoted(cell);
    else
      plain(cell);
    if (at_ == end_) return Ended::kFile;
    if (*at_ == ',') return ++at_, Ended::kCell;
    line_end();
    return Ended::kRow;
  }

  // Skips lines that hold nothing, so that a trailing one is no row.
  void skip_blank_lines() {
    while (at_ < end_ && (*at_ == '\n' || *at_ == '\r')) line_end();
  }

 private:
  void plain(std::string& cell) {
    const char* const begin = at_;
    while (at_ < end_ && *at_ != ',' && *at_ != '\n' && *at_ != '\r') ++at_;
    cell.assign(begin, at_);
  }

  void quoted(std::string& cell) {
    const char* const opening = at_++;
    const int opening_line = line_;
    const char* const opening_line_begin = line_begin_;
    for (;;) {
      const auto* quote =
          static_cast<const char*>(std::memchr(at_, '"', static_cast<std::size_t>(end_ - at_)));
      if (quote == nullptr)
        fail("a quoted cell is never closed", opening_line, opening_line_begin, opening);
      cell.append(at_, quote);
      for (const char* p = at_; p < quote; ++p)
        if (*p == '\n') ++line_, line_begin_ = p + 1;
      at_ = quote + 1;
      if (at_ == end_ || *at_ != '"') break;
      cell += '"';
      ++at_;
    }
    if (at_ < end_ && *at_ != ',' && *at_ != '\n' && *at_ != '\r')
      fail("text after the closing quote of a cell", line_, line_begin_, at_);
  }

  void line_end() {
    if (*at_ == '\r') {
      ++at_;
      if (at_ == end_ || *at_ != '\n')
        fail("a carriage return without a line feed", line_, line_begin_, at_ - 1);
    }
    ++at_;
    ++line_;
    line_begin_ = at_;
  }

  [[noreturn]] void fail(const char* message, int line, const char* line_begin, const char* at) {
    throw_input_error("spec.syntax", message, where_in(source_, line, column_of(line_begin, at)),
                      "a quote inside a cell is doubled; lines end in LF or CRLF");
  }

  const Source& source_;
  const char* at_;
  const char* const end_;
  int line_;
  const char* line_begin_;
};

void check_columns(const Csv& csv) {
  std::set<std::string_view> seen;
  ErrorList errors;
  for (const std::string& column : csv.columns)
    if (!column.empty() && !seen.insert(column).second)
      errors.add("spec.duplicate-column", fmt::format("column \"{}\" appears twice", column),
                 where_in(*csv.source, 1, 0));
  errors.throw_if_any();
}

// Reads all cells up to the end of the row.
void read_row(CellScanner& scanner, std::vector<std::string>& cells) {
  std::string cell;
  Ended ended = Ended::kCell;
  while (ended == Ended::kCell) {
    ended = scanner.next(cell);
    cells.push_back(std::move(cell));
  }
}

}  // namespace

Csv parse_csv(std::string_view text, const std::string& file) {
  Csv csv;
  csv.file = file;
  csv.source = make_source(text, file);
  CellScanner scanner(*csv.source, csv.source->text.data(), 1);
  scanner.skip_blank_lines();
  if (scanner.done())
    throw_input_error("spec.empty", "the file is empty; a line of column names is needed",
                      {file, 0, 0, {}});
  read_row(scanner, csv.columns);
  check_columns(csv);

  ErrorList errors;
  std::size_t num_ragged = 0;
  for (scanner.skip_blank_lines(); !scanner.done(); scanner.skip_blank_lines()) {
    CsvRow row;
    row.line = scanner.line();
    row.cells.reserve(csv.columns.size());
    read_row(scanner, row.cells);
    if (row.cells.size() == csv.columns.size()) {
      csv.rows.push_back(std::move(row));
    } else if (++num_ragged <= kMostRaggedRowsReported) {
      errors.add("spec.ragged-row",
                 fmt::format("the row has {}, the header has {}", counted(row.cells.size(), "cell"),
                             counted(csv.columns.size(), "column")),
                 where_in(*csv.source, row.line, 0),
                 "a cell that holds a comma must be quoted; an empty cell still needs its comma");
    }
  }
  if (num_ragged > kMostRaggedRowsReported)
    errors.add(
        "spec.ragged-row",
        fmt::format("{} a wrong number of cells", counted(num_ragged - kMostRaggedRowsReported,
                                                          "more row has", "more rows have")),
        {file, 0, 0, {}});
  errors.throw_if_any();
  return csv;
}

Csv read_csv(const std::string& path) { return parse_csv(read_text_file(path), path); }

int Csv::find(std::string_view column) const {
  const auto it = std::find(columns.begin(), columns.end(), column);
  return it == columns.end() ? -1 : static_cast<int>(it - columns.begin());
}

void Csv::require_all(const std::vector<std::string>& names) const {
  ErrorList errors;
  for (const std::string& name : names) {
    if (find(name) >= 0) continue;
    std::string hint;
    const char separator = columns.size() == 1 && columns[0].find(';') != std::string::npos ? ';'
                           : columns.size() == 1 && columns[0].find('\t') != std::string::npos
                               ? '\t'
                               : ',';
    if (separator != ',')
      hint = fmt::format("columns are separated by commas, not by {}",
                         separator == ';' ? "semicolons" : "tabs");
    else if (const auto near = nearest(name, columns))
      hint = fmt::format("did you mean the column \"{}\"?", *near);
    errors.add("spec.missing-column", fmt::format("there is no column \"{}\"", name),
               {file, 1, 0, {}}, hint);
  }
  errors.throw_if_any();
}

const std::string& Csv::cell(const CsvRow& row, int column) const {
  static const std::string kEmpty;
  const auto index = static_cast<std::size_t>(column);
  return column < 0 || index >= row.cells.size() ? kEmpty : row.cells[index];
}

Where Csv::where(const CsvRow& row, int column) const {
  if (source == nullptr) return {file, row.line, 0, {}};
  if (column < 0) return where_in(*source, row.line, 0);
  std::size_t begin = 0;
  for (int line = 1; line < row.line; ++line) {
    begin = source->text.find('\n', begin) + 1;
    if (begin == 0) return {file, row.line, 0, {}};  // not a row of this file
  }
  const char* const row_begin = source->text.data() + begin;
  CellScanner scanner(*source, row_begin, row.line);
  std::string cell;
  for (int i = 0; i < column && scanner.next(cell) == Ended::kCell; ++i) {
  }
  const char* line_begin = scanner.at();
  while (line_begin > row_begin && line_begin[-1] != '\n') --line_begin;
  return where_in(*source, scanner.line(), column_of(line_begin, scanner.at()));
}

std::string write_csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + '"';
}

}  // namespace nereus::spec
