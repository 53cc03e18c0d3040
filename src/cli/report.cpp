#include "cli/report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/format.hpp"

namespace nereus::cli {

namespace {

// Parameters and rates in the short scale people use for them: 70.6 B.
std::string short_scale(double value) {
  static constexpr struct {
    double factor;
    const char* name;
  } kScale[] = {{1e12, " T"}, {1e9, " B"}, {1e6, " M"}, {1e3, " k"}};
  for (const auto& [factor, name] : kScale) {
    // From 999.5 on three digits would read 1000.
    if (std::fabs(value) >= factor * 0.9995) return format_significant(value / factor) + name;
  }
  return format_significant(value);
}

}  // namespace

double Cell::number() const {
  if (const double* real = std::get_if<double>(&value)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return 0;
}

std::string human(double value, Unit unit) {
  if (!std::isfinite(value)) return "-";
  switch (unit) {
    case Unit::kNone:
      return fmt::format("{:.6g}", value);
    case Unit::kCount:
      return format_count(std::llround(value));
    case Unit::kParameters:
      return short_scale(value);
    case Unit::kSeconds:
      return format_seconds(Seconds{value});
    case Unit::kBytes:
      return format_bytes(Bytes{value});
    case Unit::kBytesPerSecond:
      return format_rate(BytesPerSecond{value});
    case Unit::kFlops:
      return format_flops(Flops{value});
    case Unit::kFlopsPerSecond:
      return format_flops(FlopsPerSecond{value});
    case Unit::kWatts:
      return format_significant(value) + " W";
    case Unit::kUsd:
      return format_usd(Usd{value});
    case Unit::kUsdPerHour:
      return format_usd(UsdPerHour{value});
    case Unit::kShare:
      return format_share(value);
  }
  return "";
}

}  // namespace nereus::cli
