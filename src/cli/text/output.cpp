#include "cli/text/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace nereus::cli {

namespace {

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csv_cell(const Cell& cell) {
  if (const std::string* text = std::get_if<std::string>(&cell.value)) return csv_field(*text);
  const std::string value = api::cell_json(cell);
  return value == "null" ? "" : value;
}

std::string markdown_field(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

void append_markdown(std::string& out, const Table& table) {
  if (!table.title.empty()) out += fmt::format("**{}**\n\n", table.title);
  if (table.record) {
    out += "| | |\n| --- | --- |\n";
    for (size_t i = 0; i < table.columns.size(); ++i) {
      out += fmt::format("| {} | {} |\n", table.columns[i].title,
                         markdown_field(cell_text(table.rows[0][i], table.columns[i])));
    }
  } else {
    std::string rule;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      out += fmt::format("| {} ", table.columns[i].title);
      bool right = !table.rows.empty();
      for (const auto& row : table.rows) right &= row[i].is_number() || row[i].value.index() == 0;
      rule += right ? "| ---: " : "| --- ";
    }
    out += "|\n" + rule + "|\n";
    for (const auto& row : table.rows) {
      for (size_t i = 0; i < row.size(); ++i) {
        out += fmt::format("| {} ", markdown_field(cell_text(row[i], table.columns[i])));
      }
      out += "|\n";
    }
  }
  for (const std::string& note : table.notes) out += fmt::format("\n{}\n", note);
}

}  // namespace

std::string render_csv(const Report& report) {
  NEREUS_CHECK(!report.tables.empty(), "a report without a table");
  const Table& table = report.tables.front();
  std::string out;
  for (const Column& column : table.columns) {
    out += (&column == &table.columns.front() ? "" : ",") + csv_field(column.key);
  }
  out += '\n';
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) out += (i == 0 ? "" : ",") + csv_cell(row[i]);
    out += '\n';
  }
  return out;
}

std::string render_markdown(const Report& report) {
  std::string out;
  for (const Table& table : report.tables) {
    if (!out.empty()) out += '\n';
    append_markdown(out, table);
  }
  return out;
}

std::string render(const Report& report, Format format, const Terminal& terminal) {
  for (const Table& table : report.tables) {
    NEREUS_CHECK(!table.record || table.rows.size() == 1, "a record has one row");
    for (const auto& row : table.rows) {
      NEREUS_CHECK(row.size() == table.columns.size(), "a cell for every column: " + table.name);
    }
  }
  switch (format) {
    case Format::kTable:
      return !report.text.empty() ? report.text : render_text(report, terminal);
    case Format::kJson:
      return api::render_json(report);
    case Format::kCsv:
      return render_csv(report);
    case Format::kMarkdown:
      return render_markdown(report);
  }
  return "";
}

void write_stdout(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EPIPE) {
      throw ReaderGone{};
    } else if (errno != EINTR) {
      throw_environment_error("output.stdout",
                              fmt::format("cannot write to stdout: {}", std::strerror(errno)));
    }
  }
}

}  // namespace nereus::cli
