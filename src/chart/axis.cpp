#include "chart/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nereus::chart {

namespace {

constexpr double kLargest = 1e100;
constexpr double kSlack = 1e-9;  // of a step: rounding must not lose the last tick

std::string with_separators(std::string number) {
  const std::size_t first = number.starts_with('-') ? 1 : 0;
  const std::size_t point = std::min(number.find('.'), number.size());
  for (std::size_t i = point; i > first + 3; i -= 3) number.insert(i - 3, 1, ',');
  return number;
}

std::string with_unit(const std::string& number, Unit unit, std::string_view name) {
  if (unit == Unit::kUsd || unit == Unit::kUsdPerHour) {
    const bool negative = number.starts_with('-');
    return fmt::format("{}${}{}", negative ? "-" : "", number.substr(negative ? 1 : 0),
                       unit == Unit::kUsdPerHour ? "/h" : "");
  }
  return name.empty() ? number : fmt::format("{} {}", number, name);
}

std::string fixed(double number, int decimals) {
  const bool tiny = number != 0 && std::abs(number) < 1e-6;
  if (std::abs(number) >= 1e15 || tiny || decimals > 9) return fmt::format("{:.12g}", number);
  return with_separators(fmt::format("{:.{}f}", number, decimals));
}

// Times below two minutes in seconds, below two hours in minutes: 90 min rather than 1.5 h.
UnitScale axis_unit(double largest, Unit unit) {
  const UnitScale scale = unit_scale(largest, unit);
  const bool clock = unit == Unit::kSeconds && scale.size > 1;
  return clock && std::abs(largest) < 2 * scale.size ? unit_scale(largest / 10, unit) : scale;
}

// The least of 1, 2, 5, 10, 20, ... (or 0.5, 0.2, ...) that is not below `size`.
double round_up(double size) {
  const double power = std::pow(10.0, std::floor(std::log10(size)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (power * factor >= size * (1 - kSlack)) return power * factor;
  return power * 10;
}

double linear_step(const Axis& axis, double low, double high, int max_ticks, double size) {
  double step = round_up((high - low) / size / std::max(1, max_ticks - 1));
  if (axis.unit == Unit::kCount) step = std::max(step, 1.0);
  return step * size;
}

// Multiples of the step within [low, high].
std::vector<Tick> linear_ticks(const Axis& axis, double low, double high, double step,
                               const UnitScale& unit) {
  std::vector<Tick> ticks;
  const double first = std::ceil(low / step - kSlack);
  const double last = std::floor(high / step + kSlack);
  const double in_unit = step / unit.size;
  const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(in_unit) - kSlack)));
  for (double i = first; i <= last; ++i) {
    const double value = std::clamp(i * step, low, high);
    const std::string number = i == 0 ? "0" : fixed(i * step / unit.size, decimals);
    ticks.push_back({value, with_unit(number, axis.unit, unit.unit)});
  }
  return ticks;
}

Tick round_tick(double value, Unit unit) {
  const UnitScale scale = unit_scale(value, unit);
  const double number = value / scale.size;
  int decimals = 0;
  while (decimals < 9 && std::abs(number * std::pow(10.0, decimals) -
                                  std::round(number * std::pow(10.0, decimals))) > 1e-6)
    ++decimals;
  const std::string text = fixed(number, decimals);
  return {value, with_unit(text, unit, text == "1" && scale.unit == "days" ? "day" : scale.unit)};
}

// All powers of ten (and 2 and 5 times them) that may have a tick, and clock units above a second.
std::vector<double> tens(double low, double high, bool dense, bool clock, int stride) {
  std::vector<double> values;
  const auto add = [&](double value) {
    if (value >= low * (1 - kSlack) && value <= high * (1 + kSlack)) values.push_back(value);
  };
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  for (int exponent = first; exponent <= last; ++exponent) {
    if (exponent % stride != 0 || (clock && exponent >= 1)) continue;
    const double power = std::pow(10.0, exponent);
    for (const double factor : {1.0, 2.0, 5.0})
      if (factor == 1 || dense) add(factor * power);
  }
  if (!clock) return values;
  constexpr double kMinute = 60, kHour = 3600, kDay = 86400;
  if (stride == 1)
    for (const double value : {10.0, kMinute, 10 * kMinute, kHour, 10 * kHour}) {
      add(value);
      if (!dense) continue;
      add(2 * value);  // 20 s, 2 min, 20 min, 2 h, 20 h
      if (value == kMinute || value == kHour) add(5 * value);
    }
  else if (stride == 2)
    add(kMinute), add(kHour);
  for (double power = kDay; power <= high * (1 + kSlack); power *= std::pow(10.0, stride))
    for (const double factor : {1.0, 2.0, 5.0})
      if (factor == 1 || dense) add(factor * power);
  return values;
}

std::vector<double> twos(double low, double high, int stride) {
  std::vector<double> values;
  const int last = static_cast<int>(std::floor(std::log2(high) + kSlack));
  for (int exponent = static_cast<int>(std::ceil(std::log2(low) - kSlack)); exponent <= last;
       ++exponent)
    if (exponent % stride == 0) values.push_back(std::clamp(std::exp2(exponent), low, high));
  return values;
}

// The densest choice with at most max_ticks; empty if the axis spans too little for it.
std::vector<Tick> log_ticks(const Axis& axis, double low, double high, int max_ticks) {
  const bool binary = axis.unit == Unit::kBytes;
  for (const int stride : {0, 1, 2, 3, 5, 10, 20, 50, 100}) {
    const std::vector<double> values =
        binary ? twos(low, high, std::max(1, stride))
               : tens(low, high, stride == 0, axis.unit == Unit::kSeconds, std::max(1, stride));
    if (static_cast<int>(values.size()) > max_ticks) continue;
    if (values.size() < 3 && (high < 20 * low || values.empty())) return {};
    std::vector<Tick> ticks;
    for (const double value : values)
      if (axis.unit != Unit::kCount || value > 0.99)
        ticks.push_back(round_tick(std::clamp(value, low, high), axis.unit));
    return ticks;
  }
  return {};
}

}  // namespace

bool has_place(double value, bool log) {
  return std::isfinite(value) && std::abs(value) <= kLargest && (!log || value >= 1 / kLargest);
}

double AxisScale::share(double value) const {
  return log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
}

AxisScale make_scale(const Axis& axis, std::span<const double> values, double from, double to,
                     int max_ticks, Ends ends) {
  AxisScale scale{.log = axis.log, .from = from, .to = to, .ticks = {}};
  double low = kLargest, high = -kLargest;
  for (const double value : values) {
    if (!has_place(value, axis.log)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) std::tie(low, high) = axis.log ? std::pair(1.0, 10.0) : std::pair(0.0, 1.0);
  const bool zero = axis.from_zero && !axis.log;
  if (zero) low = std::min(low, 0.0), high = std::max(high, 0.0);
  // Values that only differ by rounding are one value in the middle.
  const double size = std::max(std::abs(low), std::abs(high));
  if (high - low <= 1e-9 * size || size < 1 / kLargest) {
    const double around = size < 1 / kLargest ? 1 : size / 10;
    if (axis.log)
      low /= 1.5, high *= 1.5;
    else
      low -= around, high += around;
  } else if (axis.log && ends == Ends::kRound) {
    const double margin = std::pow(high / low, 0.04);
    low /= margin, high *= margin;
  }
  const UnitScale unit = axis_unit(std::max(std::abs(low), std::abs(high)), axis.unit);
  const double step = linear_step(axis, low, high, max_ticks, unit.size);
  if (!axis.log && ends == Ends::kRound) {
    const double margin = zero ? 0 : 0.02 * (high - low);
    low = std::floor((low < 0 || low - margin >= 0 ? low - margin : low) / step + kSlack) * step;
    high = std::max(std::ceil((high + margin) / step - kSlack) * step, low + step);
  }
  scale.low = low;
  scale.high = high;
  if (axis.log) scale.ticks = log_ticks(axis, low, high, max_ticks);
  if (scale.ticks.empty()) scale.ticks = linear_ticks(axis, low, high, step, unit);
  // Tight ends may leave one round number between them; the next finer steps have more.
  for (int more = 1; scale.ticks.size() < 2 && more < 8; ++more)
    scale.ticks = linear_ticks(axis, low, high,
                               linear_step(axis, low, high, max_ticks + more, unit.size), unit);
  return scale;
}

}  // namespace nereus::chart
