#include "simulate/table_cells.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/nearest.hpp"
#include "base/parse_number.hpp"

namespace nereus::simulate {

std::vector<std::string> Cells::parts(std::string_view column, char separator) const {
  std::vector<std::string> parts(1);
  for (const char c : text(column)) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

void Cells::wrong(std::string_view column, std::string message, std::string hint) {
  errors_.add("network.bad-value", std::move(message), csv_.where(row_, csv_.find(column)),
              std::move(hint));
}

double Cells::number_of(std::string_view column, const std::string& cell, double least,
                        double most) {
  const std::optional<double> value = parse_number<double>(cell);
  if (value && *value >= least && *value <= most) return *value;
  wrong(column,
        fmt::format("{} is \"{}\"; it is a number of {:g} to {:g}", column, cell, least, most));
  return least;
}

std::int64_t Cells::whole_of(std::string_view column, const std::string& cell, std::int64_t least,
                             std::int64_t most) {
  const std::optional<std::int64_t> value = parse_number<std::int64_t>(cell);
  if (value && *value >= least && *value <= most) return *value;
  wrong(column,
        fmt::format("{} is \"{}\"; it is a whole number of {} to {}", column, cell, least, most));
  return least;
}

std::int64_t Cells::whole(std::string_view column, std::int64_t least, std::int64_t most) {
  return whole_of(column, text(column), least, most);
}

double Cells::number(std::string_view column, double least, double most) {
  return number_of(column, text(column), least, most);
}

std::size_t Cells::word_of(std::string_view column, const std::string& cell,
                           const std::vector<std::string>& known) {
  for (std::size_t i = 0; i < known.size(); ++i)
    if (edit_distance(cell, known[i]) == 0) return i;
  const auto meant = nearest(cell, known);
  wrong(column, fmt::format("{} \"{}\" is not known", column, cell),
        meant ? fmt::format("did you mean \"{}\"?", *meant)
              : fmt::format("one of {}", fmt::join(known, ", ")));
  return 0;
}

Collective Cells::collective() {
  const std::string& cell = text("collective");
  if (const auto known = parse_collective(cell)) return *known;
  std::vector<std::string> names;
  for (int i = 0; i < 4; ++i) names.emplace_back(to_string(static_cast<Collective>(i)));
  return static_cast<Collective>(word_of("collective", cell, names));
}

}  // namespace nereus::simulate
