#include "api/reports/page_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/form/report.hpp"
#include "base/build_info.hpp"

namespace nereus::api {

chart::PageTable page_table(const Table& table) {
  chart::PageTable out{table.title, {}, {}};
  for (const Column& column : table.columns) {
    const bool numeric = std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
      return row[&column - table.columns.data()].is_number();
    });
    out.columns.push_back({column.title, numeric});
  }
  for (const std::vector<Cell>& row : table.rows) {
    std::vector<chart::PageCell>& cells = out.rows.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      chart::PageCell cell{cell_text(row[i], table.columns[i])};
      if (row[i].is_number()) cell.number = row[i].number();
      cells.push_back(std::move(cell));
    }
  }
  return out;
}

chart::PageFooter page_footer(std::string command, std::vector<std::string> inputs) {
  return {std::move(command),
          fmt::format("Nereus {} ({})", build_info().version, build_info().commit),
          std::move(inputs)};
}

}  // namespace nereus::api
