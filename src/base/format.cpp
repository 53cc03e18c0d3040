#include "base/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

namespace nereus {

namespace {

constexpr double kMinute = 60, kHour = 3600, kDay = 86400;

constexpr UnitScale kTime[] = {{1e-9, "ns"},     {1e-6, "us"}, {1e-3, "ms"},  {1, "s"},
                               {kMinute, "min"}, {kHour, "h"}, {kDay, "days"}};
constexpr UnitScale kBinary[] = {{1, "B"},      {kKiB, "KiB"}, {kMiB, "MiB"},
                                 {kGiB, "GiB"}, {kTiB, "TiB"}, {1024 * kTiB, "PiB"}};
constexpr UnitScale kRate[] = {{1, "B/s"},    {1e3, "kB/s"},  {1e6, "MB/s"},
                               {1e9, "GB/s"}, {1e12, "TB/s"}, {1e15, "PB/s"}};
constexpr UnitScale kFlops[] = {{1, "FLOP"},     {1e3, "kFLOP"},  {1e6, "MFLOP"},  {1e9, "GFLOP"},
                                {1e12, "TFLOP"}, {1e15, "PFLOP"}, {1e18, "EFLOP"}, {1e21, "ZFLOP"}};
constexpr UnitScale kFlopsRate[] = {{1, "FLOP/s"},     {1e3, "kFLOP/s"},  {1e6, "MFLOP/s"},
                                    {1e9, "GFLOP/s"},  {1e12, "TFLOP/s"}, {1e15, "PFLOP/s"},
                                    {1e18, "EFLOP/s"}, {1e21, "ZFLOP/s"}};
// Parameters in the short scale people use for them: 70.6 B.
constexpr UnitScale kShort[] = {{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "B"}, {1e12, "T"}};

// Rounds the value to that many significant digits, but not before the decimal point, so that
// 999.96 ms becomes 1 s and not "1000 ms".
double rounded(double value, int digits) {
  if (value == 0) return 0;
  const double exponent = std::floor(std::log10(std::abs(value)));
  const double step = std::pow(10.0, std::max(0.0, digits - 1 - exponent));
  return std::isfinite(step) ? std::round(value * step) / step : value;
}

UnitScale suitable(double value, std::span<const UnitScale> scales) {
  UnitScale scale = scales.front();
  for (const UnitScale& candidate : scales)
    if (std::abs(rounded(value / candidate.size, 3)) >= 1) scale = candidate;
  if (value == 0)
    for (const UnitScale& candidate : scales)
      if (candidate.size == 1) scale = candidate;
  return scale;
}

std::string scaled(double value, std::span<const UnitScale> scales) {
  if (!std::isfinite(value)) return "-";
  const UnitScale scale = suitable(value, scales);
  const std::string number = format_significant(value / scale.size);
  return scale.unit.empty() ? number : fmt::format("{} {}", number, scale.unit);
}

std::string with_separators(std::string digits) {
  for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3)
    digits.insert(static_cast<std::size_t>(i), 1, ',');
  return digits;
}

}  // namespace

std::string format_significant(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  const double shown = rounded(value, digits);
  if (shown == 0) return "0";
  const double exponent = std::floor(std::log10(std::abs(shown)));
  if (exponent < -6 || exponent > 15) return fmt::format("{:.{}g}", shown, digits);
  const int decimals = std::max(0, digits - 1 - static_cast<int>(exponent));
  return fmt::format("{:.{}f}", shown, decimals);
}

std::string format_seconds(Seconds time) { return scaled(time.value, kTime); }
std::string format_bytes(Bytes bytes) { return scaled(bytes.value, kBinary); }
std::string format_rate(BytesPerSecond rate) { return scaled(rate.value, kRate); }
std::string format_flops(Flops flops) { return scaled(flops.value, kFlops); }
std::string format_flops(FlopsPerSecond rate) { return scaled(rate.value, kFlopsRate); }

std::string format_usd(Usd usd) {
  const double amount = std::abs(usd.value);
  if (!std::isfinite(amount)) return "-";
  const std::string_view sign = usd.value < 0 ? "-$" : "$";
  if (amount > 0 && amount < 0.1) return fmt::format("{}{}", sign, format_significant(amount, 2));
  const std::string text = fmt::format("{:.2f}", amount);
  const std::size_t point = text.size() - 3;
  return fmt::format("{}{}{}", sign, with_separators(text.substr(0, point)), text.substr(point));
}

std::string format_usd(UsdPerHour price) {
  const std::string text = format_usd(Usd{price.value});
  return text == "-" ? text : text + "/h";
}

std::string format_count(std::int64_t count) {
  const std::string text = fmt::format("{}", count);
  return count < 0 ? "-" + with_separators(text.substr(1)) : with_separators(text);
}

std::string format_share(double share) {
  if (!std::isfinite(share)) return "-";
  return fmt::format("{:.1f} %", share * 100);
}

std::string counted(std::string_view number, std::string_view one, std::string_view many) {
  if (number == "1") return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", number, one) : fmt::format("{} {}", number, many);
}

std::string human(double value, Unit unit) {
  if (!std::isfinite(value)) return "-";
  switch (unit) {
    case Unit::kNone:
      return fmt::format("{:.6g}", value);
    case Unit::kCount:
      if (std::abs(value) > 9e18)
        return fmt::format("{:.6g}", value);  // more than an integer holds
      return format_count(std::llround(value));
    case Unit::kParameters:
      return scaled(value, kShort);
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

UnitScale unit_scale(double value, Unit unit) {
  if (!std::isfinite(value)) value = 0;
  switch (unit) {
    case Unit::kParameters:
      return suitable(value, kShort);
    case Unit::kSeconds:
      return suitable(value, kTime);
    case Unit::kBytes:
      return suitable(value, kBinary);
    case Unit::kBytesPerSecond:
      return suitable(value, kRate);
    case Unit::kFlops:
      return suitable(value, kFlops);
    case Unit::kFlopsPerSecond:
      return suitable(value, kFlopsRate);
    case Unit::kWatts:
      return {1, "W"};
    case Unit::kShare:
      return {0.01, "%"};
    case Unit::kNone:
    case Unit::kCount:
    case Unit::kUsd:
    case Unit::kUsdPerHour:
      break;
  }
  return {};
}

}  // namespace nereus
