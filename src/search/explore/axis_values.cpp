#include "search/explore/axis_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "base/nearest.hpp"
#include "base/parse_number.hpp"
#include "base/trimmed.hpp"
#include "spec/quantity.hpp"

namespace nereus::explore {

using spec::Value;

namespace {

constexpr double kMostWhole = 1 << 20;

struct Text {
  std::optional<double> value;
  std::string reason;  // why there is no value
  std::string hint;
};

std::optional<double> plain_number(std::string_view text) {
  const std::optional<double> value = parse_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

template <class Q>
Text quantity(std::string_view text) {
  const spec::Parsed<Q> parsed = spec::parse_quantity<Q>(text);
  if (!parsed.value) return {std::nullopt, parsed.reason, parsed.hint};
  return {parsed.value->value, {}, {}};
}

Text topology(std::string_view text) {
  if (const auto kind = cluster::parse_topology(text)) return {static_cast<double>(*kind), {}, {}};
  const std::vector<std::string> names = cluster::topology_names();
  return {std::nullopt, fmt::format("'{}' is not a topology", text),
          fmt::format("one of {}", fmt::join(names, ", "))};
}

// One number in the axis's unit.
Text parse(std::string_view text, AxisUnit unit) {
  switch (unit) {
    case AxisUnit::kCount:
    case AxisUnit::kRatio:
      if (const auto value = plain_number(text)) return {value, {}, {}};
      return {std::nullopt, fmt::format("'{}' is not a number", text), "8, or 8..64*2"};
    case AxisUnit::kBytes:
      return quantity<Bytes>(text);
    case AxisUnit::kBytesPerSecond:
      return quantity<BytesPerSecond>(text);
    case AxisUnit::kFlopsPerSecond:
      return quantity<FlopsPerSecond>(text);
    case AxisUnit::kSeconds:
      return quantity<Seconds>(text);
    case AxisUnit::kUsdPerHour:
      return quantity<UsdPerHour>(text);
    case AxisUnit::kWatts:
      return quantity<Watts>(text);
    case AxisUnit::kTopology:
      return topology(text);
  }
  return {};
}

// Beyond these numbers nothing real lies, and sums of them lose their meaning.
struct Limits {
  double least;
  double most;
};
Limits limits_of(AxisUnit unit) {
  switch (unit) {
    case AxisUnit::kBytes:
      return {1e6, 1e18};
    case AxisUnit::kBytesPerSecond:
      return {1e3, 1e18};
    case AxisUnit::kFlopsPerSecond:
      return {1e6, 1e21};
    case AxisUnit::kSeconds:
      return {1e-12, 10};
    case AxisUnit::kUsdPerHour:
      return {1e-9, 1e9};
    case AxisUnit::kWatts:
      return {1e-3, 1e9};
    default:
      return {0, kMostWhole};
  }
}

// Reads the elements of one axis; `say` adds an error at the place of the element in hand.
class List {
 public:
  List(std::string_view name, AxisUnit unit, bool zero_allowed, bool relative_allowed,
       ErrorList& errors)
      : name_(name),
        unit_(unit),
        zero_allowed_(zero_allowed),
        relative_allowed_(relative_allowed),
        errors_(errors) {}

  std::vector<AxisValue> read(const Value& value) {
    if (const auto* list = std::get_if<spec::Array>(&value.data)) {
      if (list->empty())
        say(value, "explore.empty-axis", fmt::format("{} has no values", name_),
            "at least one, or leave the axis out");
      for (const Value& own : *list) element(own);
    } else {
      element(value);
    }
    return std::move(values_);
  }

 private:
  void element(const Value& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value.data))
      return number(value, static_cast<double>(*whole));
    if (const auto* real = std::get_if<double>(&value.data)) return number(value, *real);
    const auto* text = std::get_if<std::string>(&value.data);
    if (text == nullptr)
      return say(value, "explore.bad-value",
                 fmt::format("{} takes values and ranges, not {}", name_, value.type_name()),
                 "one value, or a list of them");
    if (text->find("..") != std::string::npos) return range(value, *text);
    if (relative_allowed_ && text->size() > 1 && text->front() == 'x')
      if (const auto factor = plain_number(std::string_view(*text).substr(1)))
        return void(add(value, *factor, true));
    const Text one = parse(*text, unit_);
    if (!one.value) return say(value, "explore.bad-value", said(one.reason), one.hint);
    add(value, *one.value, false);
  }

  void number(const Value& value, double own) {
    if (unit_ == AxisUnit::kCount || unit_ == AxisUnit::kRatio) return void(add(value, own, false));
    say(value, "explore.bad-value", fmt::format("{} = {:g} has no unit", name_, own),
        unit_ == AxisUnit::kTopology ? "a name: \"switch\""
                                     : "a quantity with its unit, in quotes");
  }

  void range(const Value& value, const std::string& text) {
    const std::size_t dots = text.find("..");
    const std::size_t sign = text.find_first_of("*+", dots + 2);
    const std::string_view all = text;
    const Text first = parse(trimmed(all.substr(0, dots)), unit_);
    const Text last = parse(trimmed(all.substr(dots + 2, sign - dots - 2)), unit_);
    const bool times = sign != std::string::npos && text[sign] == '*';
    Text by{1.0, {}, {}};
    if (sign != std::string::npos) {
      const std::string_view rest = trimmed(all.substr(sign + 1));
      by = times ? parse(rest, AxisUnit::kRatio) : parse(rest, unit_);
    } else if (unit_ != AxisUnit::kCount) {
      by = {std::nullopt, "a range of quantities needs its step", "A..B*2, or A..B+STEP"};
    }
    for (const Text* part : {&first, &last, static_cast<const Text*>(&by)})
      if (!part->value)
        return say(value, "explore.bad-range", said(fmt::format("'{}': {}", text, part->reason)),
                   part->hint);
    if (unit_ == AxisUnit::kTopology || (times && !(*by.value > 1)) || !(*by.value > 0) ||
        (times && !(*first.value > 0)))
      return say(value, "explore.bad-range", said(fmt::format("'{}' never ends", text)),
                 "A..B*F with F above 1 and A above 0, or A..B+S with S above 0");
    if (*last.value < *first.value)
      return say(value, "explore.empty-axis", said(fmt::format("the range '{}' is empty", text)),
                 "the smaller end first");
    // Whole steps, so that rounding neither drops nor adds the last value.
    constexpr double kNearly = 1e-9;
    const double steps = times ? std::log(*last.value / *first.value) / std::log(*by.value)
                               : (*last.value - *first.value) / *by.value;
    if (!(steps + static_cast<double>(values_.size()) < static_cast<double>(kMostValues)))
      return say(value, "explore.long-axis",
                 said(fmt::format("'{}' has more than {} values", text, kMostValues)),
                 "a larger step");
    const auto count = static_cast<std::size_t>(steps * (1 + kNearly) + kNearly) + 1;
    for (std::size_t i = 0; i < count; ++i) {
      const double own = times ? *first.value * std::pow(*by.value, static_cast<double>(i))
                               : *first.value + *by.value * static_cast<double>(i);
      // One error is enough for a range.
      if (!add(value, std::min(own, *last.value), false)) return;
    }
  }

  // Returns false if it is not a valid value.
  bool add(const Value& at, double value, bool relative) {
    const auto refuse = [&](std::string message, std::string hint) {
      say(at, "explore.bad-value", std::move(message), std::move(hint));
      return false;
    };
    if (!relative && unit_ == AxisUnit::kCount &&
        (value != std::floor(value) || value > kMostWhole))
      return refuse(fmt::format("{} = {:g} is no count", name_, value),
                    fmt::format("a whole number up to {}", static_cast<int>(kMostWhole)));
    const bool fine =
        unit_ == AxisUnit::kTopology || value > 0 || (value == 0 && zero_allowed_ && !relative);
    if (!fine || !std::isfinite(value))
      return refuse(fmt::format("{} = {:g}: it must be above 0", name_, value),
                    zero_allowed_ ? "0 B = none" : "leave it out to keep the cluster's own");
    if (unit_ == AxisUnit::kRatio && !relative && value < 1)
      return refuse(fmt::format("{} = {:g} is below 1", name_, value), "1 = none");
    const Limits limits = relative ? Limits{1e-6, 1e6} : limits_of(unit_);
    if (value != 0 && unit_ != AxisUnit::kTopology && (value < limits.least || value > limits.most))
      return refuse(fmt::format("{} = {:g} is outside the supported range", name_, value),
                    fmt::format("{:g} to {:g} (SI)", limits.least, limits.most));
    const AxisValue own{value, relative};
    if (known_.emplace(value, relative).second) values_.push_back(own);
    return true;
  }

  std::string said(const std::string& reason) const { return fmt::format("{}: {}", name_, reason); }
  void say(const Value& at, std::string code, std::string message, std::string hint) {
    errors_.add(std::move(code), std::move(message), at.where(), std::move(hint));
  }

  std::string name_;
  AxisUnit unit_;
  bool zero_allowed_;
  bool relative_allowed_;
  ErrorList& errors_;
  std::vector<AxisValue> values_;
  std::set<std::pair<double, bool>> known_;
};

}  // namespace

std::vector<AxisValue> read_axis_values(const Value& value, Axis axis, ErrorList& errors) {
  const bool zero = axis == Axis::kExpandedMemory || info(axis).unit == AxisUnit::kSeconds;
  const bool relative = info(axis).unit != AxisUnit::kTopology;
  return List(info(axis).name, info(axis).unit, zero, relative, errors).read(value);
}

std::vector<int> read_whole_values(const Value& value, std::string_view name, int least,
                                   ErrorList& errors) {
  std::vector<int> out;
  for (const AxisValue& own : List(name, AxisUnit::kCount, least <= 0, false, errors).read(value)) {
    if (own.value < least)
      errors.add("explore.bad-value", fmt::format("{} = {:g} is below {}", name, own.value, least),
                 value.where(), fmt::format("{} or more", least));
    else
      out.push_back(static_cast<int>(own.value));
  }
  return out;
}

}  // namespace nereus::explore
