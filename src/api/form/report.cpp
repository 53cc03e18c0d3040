#include "api/form/report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "api/form/json.hpp"

namespace nereus::api {

namespace {

Json to_json(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> Json {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, double>) {
          // Whole numbers stand without ".0", and what JSON cannot say is null.
          if (!std::isfinite(value)) return nullptr;
          if (value == std::floor(value) && std::fabs(value) < 9e15) {
            return static_cast<std::int64_t>(value);
          }
          return value;
        } else {
          return value;
        }
      },
      cell.value);
}

Json to_json(const std::vector<Column>& columns, const std::vector<Cell>& row) {
  Json object = Json::object();
  for (size_t i = 0; i < columns.size(); ++i) object[columns[i].key] = to_json(row[i]);
  return object;
}

}  // namespace

double Cell::number() const {
  if (const double* real = std::get_if<double>(&value)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return 0;
}

std::string cell_text(const Cell& cell, const Column& column) {
  std::string text;
  if (const std::string* words = std::get_if<std::string>(&cell.value)) {
    text = *words;
  } else if (const bool* yes = std::get_if<bool>(&cell.value)) {
    text = *yes ? "yes" : "no";
  } else if (cell.is_number()) {
    const bool whole = cell.value.index() == 3 && column.unit == Unit::kNone;
    text = whole ? fmt::format("{}", std::get<std::int64_t>(cell.value))
                 : human(cell.number(), column.unit);
  } else {
    text = "-";
  }
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return text;
}

std::string render_json(const Report& report) {
  if (!report.json.empty()) return report.json + (report.json.back() == '\n' ? "" : "\n");
  Json object = Json::object();
  for (const Table& table : report.tables) {
    if (table.record && table.name.empty()) {
      object.update(to_json(table.columns, table.rows.at(0)));
    } else if (table.record) {
      object[table.name] = to_json(table.columns, table.rows.at(0));
    } else {
      Json& rows = object[table.name] = Json::array();
      for (const auto& row : table.rows) rows.push_back(to_json(table.columns, row));
    }
  }
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string cell_json(const Cell& cell) { return to_json(cell).dump(); }

}  // namespace nereus::api
