#include "spec/quantity.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <span>
#include <vector>

#include "base/decimal.hpp"
#include "base/nearest.hpp"
#include "base/trimmed.hpp"

namespace nereus::spec {

namespace {

// One unit is `times / over` in SI. There are two exact numbers instead of one rounded factor: "3
// us" becomes 3 / 1e6, which is the double nearest to 3e-6, and 3 * 1e-6 is not.
struct Unit {
  std::string_view name;
  double times = 1;
  double over = 1;
};

constexpr Unit kByteUnits[] = {
    {"B"},         {"kB", 1e3},   {"MB", 1e6},   {"GB", 1e9},   {"TB", 1e12},         {"PB", 1e15},
    {"KiB", kKiB}, {"MiB", kMiB}, {"GiB", kGiB}, {"TiB", kTiB}, {"PiB", 1024 * kTiB}, {"KB", 1e3},
    {"byte"},      {"bytes"},
};
constexpr Unit kByteRateUnits[] = {
    {"B/s"},
    {"kB/s", 1e3},
    {"MB/s", 1e6},
    {"GB/s", 1e9},
    {"TB/s", 1e12},
    {"PB/s", 1e15},
    {"KiB/s", kKiB},
    {"MiB/s", kMiB},
    {"GiB/s", kGiB},
    {"TiB/s", kTiB},
    {"bit/s", 1, 8},
    {"kbit/s", 1e3, 8},
    {"Mbit/s", 1e6, 8},
    {"Gbit/s", 1e9, 8},
    {"Tbit/s", 1e12, 8},
    {"KB/s", 1e3},
    {"kbps", 1e3, 8},
    {"Mbps", 1e6, 8},
    {"Gbps", 1e9, 8},
    {"Tbps", 1e12, 8},
};
constexpr Unit kTimeUnits[] = {
    {"s"},
    {"ms", 1, 1e3},
    {"us", 1, 1e6},
    {"ns", 1, 1e9},
    {"min", 60},
    {"h", 3600},
    {"d", 86400},
    {"\xC2\xB5s", 1, 1e6},  // micro sign
    {"\xCE\xBCs", 1, 1e6},
    {"second"},
    {"seconds"},  // Greek mu
    {"minute", 60},
    {"minutes", 60},
    {"hour", 3600},
    {"hours", 3600},
    {"day", 86400},
    {"days", 86400},
    {"year", 31557600},
    {"years", 31557600},
};
constexpr Unit kFlopUnits[] = {
    {"FLOP"},        {"kFLOP", 1e3},  {"MFLOP", 1e6},  {"GFLOP", 1e9},
    {"TFLOP", 1e12}, {"PFLOP", 1e15}, {"EFLOP", 1e18}, {"ZFLOP", 1e21},
};
constexpr Unit kFlopRateUnits[] = {
    {"FLOP/s"},        {"kFLOP/s", 1e3},  {"MFLOP/s", 1e6},  {"GFLOP/s", 1e9},
    {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}, {"EFLOP/s", 1e18}, {"FLOPS"},
    {"GFLOPS", 1e9},   {"TFLOPS", 1e12},  {"PFLOPS", 1e15},  {"EFLOPS", 1e18},
};
constexpr Unit kPowerUnits[] = {{"W"}, {"mW", 1, 1e3}, {"kW", 1e3}, {"MW", 1e6}};
constexpr Unit kMoneyUnits[] = {{"USD"}, {"$"}, {"$k", 1e3}, {"$M", 1e6}};
constexpr Unit kPriceUnits[] = {
    {"USD/h"}, {"$/h"}, {"$/hr"}, {"$/hour"}, {"USD/hr"}, {"USD/hour"},
};

// `num_canonical`: how many units, from the first, are written and named in messages; the others
// are only read.
struct Dimension {
  std::string_view example;
  std::span<const Unit> units;
  std::size_t num_canonical;
};

template <class Q>
constexpr Dimension dimension_of();
template <>
constexpr Dimension dimension_of<Bytes>() {
  return {"80 GiB", kByteUnits, 11};
}
template <>
constexpr Dimension dimension_of<BytesPerSecond>() {
  return {"450 GB/s", kByteRateUnits, 15};
}
template <>
constexpr Dimension dimension_of<Seconds>() {
  return {"3 us", kTimeUnits, 7};
}
template <>
constexpr Dimension dimension_of<Flops>() {
  return {"6.5 PFLOP", kFlopUnits, 8};
}
template <>
constexpr Dimension dimension_of<FlopsPerSecond>() {
  return {"312 TFLOP/s", kFlopRateUnits, 7};
}
template <>
constexpr Dimension dimension_of<Watts>() {
  return {"400 W", kPowerUnits, 4};
}
template <>
constexpr Dimension dimension_of<Usd>() {
  return {"$1000", kMoneyUnits, 1};
}
template <>
constexpr Dimension dimension_of<UsdPerHour>() {
  return {"$98.32/h", kPriceUnits, 1};
}

std::vector<std::string> unit_names(std::span<const Unit> units) {
  std::vector<std::string> names;
  for (const Unit& unit : units) names.emplace_back(unit.name);
  return names;
}

// Only "Gb/s" and its like: half the world means bits, the other half forgot the shift key.
bool is_ambiguous_rate(std::string_view unit) {
  return unit == "b/s" || (unit.size() == 4 && unit.ends_with("b/s"));
}

std::string unknown_unit_hint(std::string_view unit, const Dimension& dimension) {
  if (is_ambiguous_rate(unit) && dimension.units.data() == kByteRateUnits)
    return "write \"Gbit/s\" for bits or \"GB/s\" for bytes";
  const std::vector<std::string> names = unit_names(dimension.units);
  std::string hint;
  if (const auto near = nearest(unit, names)) hint = fmt::format("did you mean \"{}\"? ", *near);
  const auto canonical = dimension.units.first(dimension.num_canonical);
  return hint + fmt::format("known: {}", fmt::join(unit_names(canonical), ", "));
}

// Splits "$98.32/h" into 98.32 and "$/h", "80 GiB" into 80 and "GiB"; empty if there is no number.
struct Split {
  double number = 0;
  std::string unit;
};
std::optional<Split> split(std::string_view text) {
  std::string unit;
  for (const std::string_view sign : {"$", "US$"})
    if (text.starts_with(sign)) {
      unit = "$";
      text = trimmed(text.substr(sign.size()));
      break;
    }
  // from_chars accepts no plus sign, but accepts "inf" and "nan".
  const bool has_sign = text.starts_with('+') || text.starts_with('-');
  const std::string_view digits = text.substr(has_sign ? 1 : 0);
  if (digits.empty() || digits.find_first_of("0123456789.") != 0) return std::nullopt;
  Split result;
  if (text.starts_with('+')) text = digits;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = read_decimal(text.data(), end, result.number);
  if (code != std::errc()) return std::nullopt;
  const std::string_view after = trimmed({rest, static_cast<std::size_t>(end - rest)});
  // Digits right after a number are a thousands separator or a second decimal point gone wrong.
  if (after.find_first_of("0123456789,") == 0) return std::nullopt;
  for (const char c : after)
    if (c != ' ') unit += c;
  result.unit = unit;
  return result;
}

Parsed<double> parse(std::string_view text, const Dimension& dimension) {
  const std::string_view bare = trimmed(text);
  const std::string shown(bare.substr(0, 60));  // an error must stay readable
  const std::optional<Split> parts = split(bare);
  if (!parts)
    return {std::nullopt, "spec.bad-quantity",
            fmt::format("\"{}\" is no number with a unit", shown),
            fmt::format("write it like \"{}\"", dimension.example)};
  for (const Unit& unit : dimension.units) {
    if (unit.name != parts->unit) continue;
    const double value = parts->number * unit.times / unit.over;
    if (!std::isfinite(value))
      return {std::nullopt, "spec.bad-quantity", fmt::format("\"{}\" is too large", shown)};
    return {value};
  }
  if (parts->unit.empty())
    return {std::nullopt, "spec.missing-unit", fmt::format("\"{}\" has no unit", shown),
            fmt::format("write it like \"{}\"; {}", dimension.example,
                        unknown_unit_hint("", dimension))};
  return {std::nullopt, "spec.unknown-unit",
          fmt::format("\"{}\" is not a unit known here", parts->unit.substr(0, 60)),
          unknown_unit_hint(parts->unit, dimension)};
}

std::string write(double value, const Dimension& dimension) {
  std::string best;
  for (const Unit& unit : dimension.units.first(dimension.num_canonical)) {
    const double number = value / unit.times * unit.over;
    if (!std::isfinite(number) || number * unit.times / unit.over != value) continue;
    std::string text = fmt::format("{} {}", number, unit.name);
    if (best.empty() || text.size() < best.size()) best = std::move(text);
  }
  return best;
}

}  // namespace

template <class Q>
Parsed<Q> parse_quantity(std::string_view text) {
  Parsed<double> parsed = parse(text, dimension_of<Q>());
  Parsed<Q> result{std::nullopt, std::move(parsed.code), std::move(parsed.reason),
                   std::move(parsed.hint)};
  if (parsed.value) result.value = Q{*parsed.value};
  return result;
}

template <class Q>
std::string write_quantity(Q quantity) {
  return write(quantity.value, dimension_of<Q>());
}

template <class Q>
std::string_view example_quantity() {
  return dimension_of<Q>().example;
}

#define NEREUS_QUANTITY(Q)                                \
  template Parsed<Q> parse_quantity<Q>(std::string_view); \
  template std::string write_quantity<Q>(Q);              \
  template std::string_view example_quantity<Q>();
NEREUS_QUANTITY(Bytes)
NEREUS_QUANTITY(BytesPerSecond)
NEREUS_QUANTITY(Seconds)
NEREUS_QUANTITY(Flops)
NEREUS_QUANTITY(FlopsPerSecond)
NEREUS_QUANTITY(Watts)
NEREUS_QUANTITY(Usd)
NEREUS_QUANTITY(UsdPerHour)
#undef NEREUS_QUANTITY

}  // namespace nereus::spec
