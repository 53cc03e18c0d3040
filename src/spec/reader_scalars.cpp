// Reader: values without parts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/nearest.hpp"
#include "spec/reader.hpp"

namespace nereus::spec {

namespace {

// A value as shown in a message; only its start if it is long.
std::string shown(const Value& value) {
  if (std::holds_alternative<Array>(value.data) || std::holds_alternative<Table>(value.data))
    return value.type_name();
  if (const auto* number = std::get_if<double>(&value.data)) return fmt::format("{}", *number);
  constexpr std::size_t kMost = 60;
  const std::string text = to_json(value);
  return text.size() > kMost ? text.substr(0, kMost) + "..." : text;
}

}  // namespace

void Reader::wrong_type(std::string_view key, const Value& value, std::string_view expected) {
  add("spec.type", fmt::format("\"{}\" must be {}, is {}", key, expected, shown(value)), value);
}

std::int64_t Reader::to_int(std::string_view key, const Value& value, std::int64_t fallback,
                            std::int64_t min, std::int64_t max) {
  std::int64_t number = 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) {
    number = *integer;
  } else if (const auto* real = std::get_if<double>(&value.data)) {
    constexpr double kExact = 9007199254740992.0;  // 2^53: beyond, doubles skip integers
    if (std::isnan(*real) || (std::floor(*real) != *real && std::abs(*real) <= kExact))
      return wrong_type(key, value, "a whole number"), fallback;
    if (std::abs(*real) > kExact) {
      add("spec.range",
          fmt::format("\"{}\" must be {} {}, is {}", key, *real < 0 ? "at least" : "at most",
                      *real < 0 ? min : max, *real),
          value);
      return fallback;
    }
    number = static_cast<std::int64_t>(*real);
  } else {
    return wrong_type(key, value, "a whole number"), fallback;
  }
  if (number >= min && number <= max) return number;
  add("spec.range",
      fmt::format("\"{}\" must be {} {}, is {}", key, number < min ? "at least" : "at most",
                  number < min ? min : max, number),
      value);
  return fallback;
}

double Reader::to_double(std::string_view key, const Value& value, double fallback, double min,
                         double max) {
  double number = 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value.data))
    number = static_cast<double>(*integer);
  else if (const auto* real = std::get_if<double>(&value.data))
    number = *real;
  else
    return wrong_type(key, value, "a number"), fallback;
  if (!std::isfinite(number)) return wrong_type(key, value, "a finite number"), fallback;
  if (number >= min && number <= max) return number;
  add("spec.range",
      fmt::format("\"{}\" must be {} {}, is {}", key, number < min ? "at least" : "at most",
                  number < min ? min : max, number),
      value);
  return fallback;
}

int Reader::required_int(std::string_view key, int min, int max) {
  return static_cast<int>(required_int64(key, min, max));
}
int Reader::optional_int(std::string_view key, int fallback, int min, int max) {
  return static_cast<int>(optional_int64(key, fallback, min, max));
}
std::int64_t Reader::required_int64(std::string_view key, std::int64_t min, std::int64_t max) {
  const Value* value = look_required(key);
  return value != nullptr ? to_int(key, *value, min, min, max) : min;
}
std::int64_t Reader::optional_int64(std::string_view key, std::int64_t fallback, std::int64_t min,
                                    std::int64_t max) {
  const Value* value = look(key);
  return value != nullptr ? to_int(key, *value, fallback, min, max) : fallback;
}

double Reader::required_double(std::string_view key, double min, double max) {
  const double least = std::isfinite(min) ? min : std::min(0.0, max);
  const Value* value = look_required(key);
  return value != nullptr ? to_double(key, *value, least, min, max) : least;
}
double Reader::optional_double(std::string_view key, double fallback, double min, double max) {
  const Value* value = look(key);
  return value != nullptr ? to_double(key, *value, fallback, min, max) : fallback;
}

// --- booleans, strings, choices ---

bool Reader::required_bool(std::string_view key) {
  const Value* value = look_required(key);
  if (value == nullptr) return false;
  if (const auto* truth = std::get_if<bool>(&value->data)) return *truth;
  return wrong_type(key, *value, "true or false"), false;
}
bool Reader::optional_bool(std::string_view key, bool fallback) {
  return has(key) ? required_bool(key) : fallback;
}

std::string Reader::to_string(std::string_view key, const Value& value, bool may_be_empty) {
  const auto* text = std::get_if<std::string>(&value.data);
  if (text == nullptr || (text->empty() && !may_be_empty))
    return wrong_type(key, value, may_be_empty ? "a string" : "a string that is not empty"), "";
  return *text;
}
std::string Reader::required_string(std::string_view key) {
  const Value* value = look_required(key);
  return value != nullptr ? to_string(key, *value, false) : "";
}
std::string Reader::optional_string(std::string_view key, std::string fallback) {
  const Value* value = look(key);
  return value != nullptr ? to_string(key, *value, true) : std::move(fallback);
}

std::size_t Reader::choice(std::string_view key, const std::vector<std::string>& names,
                           std::size_t fallback, bool required) {
  const Value* value = required ? look_required(key) : look(key);
  if (value == nullptr) return fallback;
  const auto* text = std::get_if<std::string>(&value->data);
  if (text == nullptr) return wrong_type(key, *value, "a string"), fallback;
  const auto it = std::find(names.begin(), names.end(), *text);
  if (it != names.end()) return static_cast<std::size_t>(it - names.begin());
  const auto near = nearest(*text, names);
  add("spec.choice", fmt::format("\"{}\" cannot be {}", key, shown(*value)), *value,
      (near ? fmt::format("did you mean \"{}\"? ", *near) : "") +
          fmt::format("known: {}", fmt::join(names, ", ")));
  return fallback;
}

// --- quantities ---

template <class Q>
Q Reader::to_quantity(std::string_view key, const Value& value, Q fallback, Zero zero) {
  Q quantity{};
  if (const auto* text = std::get_if<std::string>(&value.data)) {
    Parsed<Q> parsed = parse_quantity<Q>(*text);
    if (!parsed.value) {
      add(parsed.code, fmt::format("\"{}\": {}", key, parsed.reason), value, parsed.hint);
      return fallback;
    }
    quantity = *parsed.value;
  } else if (std::holds_alternative<std::int64_t>(value.data) ||
             std::holds_alternative<double>(value.data)) {
    if (units_ == Units::kWritten) {
      const Parsed<Q> bare = parse_quantity<Q>("1");
      add("spec.missing-unit", fmt::format("\"{}\" = {} has no unit", key, shown(value)), value,
          bare.hint);
      return fallback;
    }
    quantity = Q{to_double(key, value, std::nan(""), -kInfinity, kInfinity)};
    if (std::isnan(quantity.value)) return fallback;  // was reported
  } else {
    return wrong_type(key, value, fmt::format("a quantity like \"{}\"", example_quantity<Q>())),
           fallback;
  }
  if (quantity.value > 0 || (quantity.value == 0 && zero == Zero::kAllowed)) return quantity;
  add("spec.range",
      fmt::format("\"{}\" must be {}, is {}", key,
                  zero == Zero::kAllowed ? "at least 0" : "more than 0", shown(value)),
      value);
  return fallback;
}

template <class Q>
Q Reader::required(std::string_view key, Zero zero) {
  const Value* value = look_required(key);
  return value != nullptr ? to_quantity(key, *value, Q{}, zero) : Q{};
}
template <class Q>
Q Reader::optional(std::string_view key, Q fallback, Zero zero) {
  const Value* value = look(key);
  return value != nullptr ? to_quantity(key, *value, fallback, zero) : fallback;
}

#define NEREUS_QUANTITY(Q)                                \
  template Q Reader::required<Q>(std::string_view, Zero); \
  template Q Reader::optional<Q>(std::string_view, Q, Zero);
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
