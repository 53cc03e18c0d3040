#include "app/stash_files.hpp"

#include <charconv>

#include "base/embedded.hpp"
#include "base/error.hpp"

namespace nereus::app {

namespace {

std::string_view text_of(const std::string& file) {
  for (const EmbeddedFile& own : embedded_files())
    if (own.path == "stash/" + file) return own.text;
  NEREUS_CHECK(false, "data/stash is part of the program");
  return {};
}

}  // namespace

StashTable::StashTable(const std::string& file)
    : csv_(spec::parse_csv(text_of(file), "data/stash/" + file)) {}

const std::string& StashTable::text(const spec::CsvRow& row, const char* column) const {
  const int at = csv_.find(column);
  NEREUS_CHECK(at >= 0, "columns of data/stash are known");
  return csv_.cell(row, at);
}

std::optional<double> StashTable::number(const spec::CsvRow& row, const char* column) const {
  const std::string& cell = text(row, column);
  double value = 0;
  const auto read = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (cell.empty() || read.ec != std::errc() || read.ptr != cell.data() + cell.size())
    return std::nullopt;
  return value;
}

}  // namespace nereus::app
