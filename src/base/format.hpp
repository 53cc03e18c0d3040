// Formats quantities for people: three significant digits and a suitable unit. Only for tables and
// messages; machine-readable formats have raw SI numbers.
//
//   format_seconds(Seconds{0.0378});      // "37.8 ms"
//   format_bytes(Bytes{77.2e9});          // "71.9 GiB"
//   format_count(1234567);                // "1,234,567"
//   counted(1, "rank");                   // "1 rank"
//
//   unit_scale(1.5e9, Unit::kBytes);      // {2^30, "GiB"}, for values that share one unit
//
// A number that is not finite is shown as "-".
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace nereus {

std::string format_seconds(Seconds time);  // ns, us, ms, s, min, h, days
std::string format_bytes(Bytes bytes);     // B, KiB, MiB, GiB, TiB, PiB
std::string format_rate(
    BytesPerSecond rate);               // B/s, kB/s, MB/s, GB/s, TB/s: decimal, as in data sheets
std::string format_flops(Flops flops);  // GFLOP, TFLOP, ...
std::string format_flops(FlopsPerSecond rate);  // GFLOP/s, TFLOP/s, ...
std::string format_usd(Usd usd);                // "$1,234.56", "$0.0012"
std::string format_usd(UsdPerHour price);       // "$98.32/h"
std::string format_count(std::int64_t count);   // with thousands separators
std::string format_share(double share);         // 0.423 -> "42.3 %"

// A number with its noun: "1 rank", "12 ranks". A plural without a mere s is given: "batch",
// "batches"; it may contain a verb: "row has", "rows have". The number may be text, as in "1,024".
std::string counted(std::string_view number, std::string_view one, std::string_view many = {});
template <std::integral Number>
std::string counted(Number number, std::string_view one, std::string_view many = {}) {
  return counted(std::to_string(number), one, many);
}

// A number with that many significant digits, without an exponent if possible: 1.42, 37.8, 450,
// 1520.
std::string format_significant(double value, int digits = 3);

// The meaning of a raw SI number in a column or on an axis.
enum class Unit {
  kNone,
  kCount,       // 16,384
  kParameters,  // 70.6 B
  kSeconds,
  kBytes,  // binary: GiB
  kBytesPerSecond,
  kFlops,
  kFlopsPerSecond,
  kWatts,
  kUsd,
  kUsdPerHour,
  kShare,  // 0.123 = 12.3 %
};

// "1.23 s", "80 GiB", "12.3 %", "$3.91/h": three significant digits and a suitable unit.
std::string human(double value, Unit unit);

// The unit in which human() shows a value, and its size in SI units. If nothing is scaled (counts,
// dollars, plain numbers), the size is 1.
struct UnitScale {
  double size = 1;
  std::string_view unit;
};
UnitScale unit_scale(double value, Unit unit);

}  // namespace nereus
