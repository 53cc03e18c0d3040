// Tables for people: columns aligned, within the terminal's width.
#include <algorithm>
#include <numeric>

#include "cli/text/output.hpp"

namespace nereus::cli {

using api::bar;
using api::cell_text;
using api::display_width;
using api::Style;
using api::styled;
using api::truncated;
using api::wrapped;

namespace {

constexpr int kGap = 2;
constexpr int kLeastText = 10;  // a text column is not cut below this
constexpr int kCellBarWidth = 20;

// A table on its way to the screen: texts of all cells and the width each column gets.
struct Layout {
  std::vector<size_t> shown;  // indices of the columns that stay
  std::vector<std::vector<std::string>> texts;
  std::vector<int> widths;
  std::vector<bool> right;
};

int total_width(const Layout& layout) {
  int total = 0;
  for (size_t column : layout.shown) total += layout.widths[column] + kGap;
  return total - kGap;
}

Layout measure(const Table& table, const Terminal& terminal) {
  Layout layout;
  const size_t num_columns = table.columns.size();
  layout.shown.resize(num_columns);
  std::iota(layout.shown.begin(), layout.shown.end(), size_t{0});
  layout.right.assign(num_columns, !table.rows.empty());
  for (const Column& column : table.columns) layout.widths.push_back(display_width(column.title));
  for (const auto& row : table.rows) {
    auto& texts = layout.texts.emplace_back();
    for (size_t i = 0; i < num_columns; ++i) {
      std::string text = cell_text(row[i], table.columns[i]);
      if (table.columns[i].bar && row[i].is_number()) {
        text = std::string(static_cast<size_t>(std::max(0, 7 - display_width(text))), ' ') + text +
               "  " + bar(row[i].number(), kCellBarWidth, terminal);
        layout.right[i] = false;
      }
      if (!row[i].is_number() && row[i].value.index() != 0) layout.right[i] = false;
      layout.widths[i] = std::max(layout.widths[i], display_width(text));
      texts.push_back(std::move(text));
    }
  }
  return layout;
}

// The widest text column that may become narrower; -1 if there is none. `all`: also columns that
// are not marked as dispensable.
int widest_text(const Layout& layout, const Table& table, int least, bool all) {
  int widest = -1;
  for (size_t i : layout.shown) {
    const Column& column = table.columns[i];
    if (layout.right[i] || column.bar || layout.widths[i] <= least) continue;
    if (!all && !column.wrap && column.rank == 0) continue;
    if (widest < 0 || layout.widths[i] > layout.widths[widest]) {
      widest = static_cast<int>(i);
    }
  }
  return widest;
}

// Reduces the width: first long remarks become narrower, then columns are dropped by rank, then
// names are cut. Returns the titles of the dropped columns.
std::vector<std::string> fit(Layout& layout, const Table& table, int width) {
  std::vector<std::string> hidden;
  if (width <= 0) return hidden;
  while (total_width(layout) > width) {
    const auto last = std::max_element(
        layout.shown.begin(), layout.shown.end(),
        [&](size_t a, size_t b) { return table.columns[a].rank < table.columns[b].rank; });
    if (int i = widest_text(layout, table, 3 * kLeastText, false); i >= 0) {
      layout.widths[i] -= 1;
    } else if (last != layout.shown.end() && table.columns[*last].rank > 0) {
      hidden.push_back(table.columns[*last].title);
      layout.shown.erase(last);
    } else if (i = widest_text(layout, table, kLeastText, true); i >= 0) {
      layout.widths[i] -= 1;
    } else {
      break;  // nothing left to give: the terminal wraps
    }
  }
  return hidden;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return lines;
    begin = end + 1;
  }
}

std::string padded(const std::string& text, int width, bool right) {
  const std::string space(static_cast<size_t>(std::max(0, width - display_width(text))), ' ');
  return right ? space + text : text + space;
}

void append_line(std::string& out, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

void append_row(std::string& out, const Layout& layout, const Table& table,
                const std::vector<std::string>& texts, const Terminal& terminal) {
  std::vector<std::vector<std::string>> cells;
  size_t height = 1;
  for (size_t i : layout.shown) {
    cells.push_back(table.columns[i].wrap
                        ? lines_of(wrapped(texts[i], layout.widths[i]))
                        : std::vector{truncated(texts[i], layout.widths[i], terminal)});
    height = std::max(height, cells.back().size());
  }
  for (size_t line = 0; line < height; ++line) {
    std::string text;
    for (size_t at = 0; at < cells.size(); ++at) {
      const size_t column = layout.shown[at];
      if (at > 0) text.append(kGap, ' ');
      text += padded(line < cells[at].size() ? cells[at][line] : "", layout.widths[column],
                     layout.right[column]);
    }
    append_line(out, text);
  }
}

void append_table(std::string& out, const Table& table, const Terminal& terminal) {
  Layout layout = measure(table, terminal);
  const std::vector<std::string> hidden = fit(layout, table, terminal.width);
  std::string header;
  std::string rule;
  for (size_t i : layout.shown) {
    if (!header.empty()) {
      header.append(kGap, ' ');
      rule.append(kGap, ' ');
    }
    header += padded(truncated(table.columns[i].title, layout.widths[i], terminal),
                     layout.widths[i], layout.right[i]);
    for (int k = 0; k < layout.widths[i]; ++k) rule += terminal.utf8 ? "─" : "-";
  }
  header.erase(header.find_last_not_of(' ') + 1);
  out += styled(header, Style::kBold, terminal) + "\n" + styled(rule, Style::kDim, terminal) + "\n";
  for (const auto& texts : layout.texts) append_row(out, layout, table, texts, terminal);
  if (!hidden.empty()) {
    std::string names;
    for (const std::string& name : hidden) names += (names.empty() ? "" : ", ") + name;
    const std::string note = "(omitted for width: " + names + "; --format csv shows all)";
    out +=
        styled(terminal.width > 0 ? wrapped(note, terminal.width) : note, Style::kDim, terminal) +
        "\n";
  }
}

void append_record(std::string& out, const Table& table, const Terminal& terminal) {
  int widest = 0;
  for (const Column& column : table.columns) widest = std::max(widest, display_width(column.title));
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const std::string label = padded(table.columns[i].title, widest, false);
    std::string text = cell_text(table.rows[0][i], table.columns[i]);
    if (table.columns[i].bar && table.rows[0][i].is_number()) {
      text += "  " + bar(table.rows[0][i].number(), kCellBarWidth, terminal);
    }
    if (terminal.width > 0) {
      text = wrapped(text, std::max(kLeastText, terminal.width - widest - kGap), widest + kGap);
    }
    append_line(out, styled(label, Style::kBold, terminal) + "  " + text);
  }
}

}  // namespace

std::string render_text(const Report& report, const Terminal& terminal) {
  std::string out;
  for (const Table& table : report.tables) {
    if (!out.empty()) out += '\n';
    if (!table.title.empty()) out += styled(table.title, Style::kBold, terminal) + "\n";
    if (table.record) {
      append_record(out, table, terminal);
    } else {
      append_table(out, table, terminal);
    }
    for (const std::string& note : table.notes) {
      out +=
          styled(terminal.width > 0 ? wrapped(note, terminal.width) : note, Style::kDim, terminal);
      out += '\n';
    }
  }
  return out;
}

}  // namespace nereus::cli
