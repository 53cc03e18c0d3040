#include "reproduce/stash_files.hpp"

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/parse_number.hpp"

namespace nereus::app {

StashTable::StashTable(const std::string& file)
    : csv_(spec::parse_csv(embedded_text("stash/" + file), "data/stash/" + file)) {}

const std::string& StashTable::text(const spec::CsvRow& row, const char* column) const {
  const int at = csv_.find(column);
  NEREUS_CHECK(at >= 0, "columns of data/stash are known");
  return csv_.cell(row, at);
}

std::optional<double> StashTable::number(const spec::CsvRow& row, const char* column) const {
  return parse_number<double>(text(row, column));
}

}  // namespace nereus::app
