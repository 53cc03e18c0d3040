#include "cli/text/report.hpp"

namespace nereus::cli {

double Cell::number() const {
  if (const double* real = std::get_if<double>(&value)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return 0;
}

}  // namespace nereus::cli
