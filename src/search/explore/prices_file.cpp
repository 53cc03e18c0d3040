#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/decimal.hpp"
#include "base/trimmed.hpp"
#include "search/explore/study_sections.hpp"
#include "spec/quantity.hpp"

namespace nereus::explore {

using spec::Reader;

namespace {

// "$4 per GB", "$0.01/h per GB/s": a price (or watts) for one of a unit.
struct UnitRate {
  double amount = 0;  // of what is paid
  bool once = false;  // paid once, not per hour
  double unit = 1;    // SI units that it buys
  std::string wrong;  // why it could not be read
};

template <class Q>
bool take(std::string_view text, double& out) {
  const spec::Parsed<Q> parsed = spec::parse_quantity<Q>(text);
  if (parsed.value) out = parsed.value->value;
  return parsed.value.has_value();
}

// "GB" is one GB.
bool take_unit(std::string_view text, AxisUnit unit, double& out) {
  const std::string one = fmt::format("1 {}", text);
  for (const std::string& own : {std::string(text), one}) {
    switch (unit) {
      case AxisUnit::kBytes:
        if (take<Bytes>(own, out)) return true;
        break;
      case AxisUnit::kBytesPerSecond:
        if (take<BytesPerSecond>(own, out)) return true;
        break;
      case AxisUnit::kFlopsPerSecond:
        if (take<FlopsPerSecond>(own, out)) return true;
        break;
      default:
        break;
    }
  }
  return false;
}

std::string_view unit_example(AxisUnit unit) {
  return unit == AxisUnit::kBytes ? "GB" : unit == AxisUnit::kBytesPerSecond ? "GB/s" : "TFLOP/s";
}

UnitRate money_for(std::string_view text) {
  UnitRate rate;
  if (take<UsdPerHour>(text, rate.amount)) {
    rate.amount /= 3600;
    return rate;
  }
  rate.once = true;
  if (!take<Usd>(text, rate.amount)) rate.wrong = fmt::format("'{}' is no price", text);
  return rate;
}

UnitRate unit_rate(std::string_view text, AxisUnit unit, bool money) {
  const std::size_t per = text.find(" per ");
  if (per == std::string_view::npos)
    return {0, false, 1, fmt::format("'{}' does not say per what", text)};
  const std::string_view amount = trimmed(text.substr(0, per));
  UnitRate rate;
  if (money)
    rate = money_for(amount);
  else if (!take<Watts>(amount, rate.amount))
    rate.wrong = fmt::format("'{}' is no power", amount);
  const std::string_view what = trimmed(text.substr(per + 5));
  if (rate.wrong.empty() && (!take_unit(what, unit, rate.unit) || !(rate.unit > 0)))
    rate.wrong = fmt::format("'{}' is no unit of it", what);
  return rate;
}

// Cost per second of money paid once; an error if there is no lifetime to spread it over.
double per_second(Reader& table, const char* key, const UnitRate& rate, double lifetime) {
  if (!rate.once) return rate.amount / rate.unit;
  if (!(lifetime > 0)) {
    table.fail(key, "explore.no-lifetime",
               "a price that is paid once needs the time over which it is spread",
               "lifetime = \"4 years\", or a price by the hour: \"$2/h\"");
    return 0;
  }
  return rate.amount / rate.unit / lifetime;
}

void read_units(Reader& table, bool money, double lifetime, std::array<double, kNumAxes>& out) {
  for (int i = 0; i < kNumAxes; ++i) {
    const auto axis = static_cast<Axis>(i);
    if (!is_resource(axis)) continue;
    const std::string key(info(axis).name);
    const std::string text = table.optional_string(key);
    if (text.empty()) continue;
    UnitRate rate = unit_rate(text, info(axis).unit, money);
    if (rate.wrong.empty() && !(rate.amount >= 0))
      rate.wrong = fmt::format("'{}' is below 0", text);
    if (!rate.wrong.empty())
      table.fail(
          key, "explore.bad-price", fmt::format("{}: {}", key, rate.wrong),
          fmt::format("\"{} per {}\"", money ? "$4" : "0.5 W", unit_example(info(axis).unit)));
    else
      out[i] = per_second(table, key.c_str(), rate, lifetime);
  }
}

struct EnergyUnit {
  std::string_view name;
  double joules;
};
constexpr EnergyUnit kEnergyUnits[] = {
    {"J", 1},     {"kJ", 1e3},    {"MJ", 1e6},    {"GJ", 1e9},     {"TJ", 1e12},
    {"Wh", 3600}, {"kWh", 3.6e6}, {"MWh", 3.6e9}, {"GWh", 3.6e12}, {"TWh", 3.6e15}};

std::optional<double> parse_joules(std::string_view text) {
  double number = 0;
  const auto [end, code] = read_decimal(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || !std::isfinite(number)) return std::nullopt;
  const std::string_view unit = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
  for (const EnergyUnit& own : kEnergyUnits)
    if (own.name == unit) return number * own.joules;
  return std::nullopt;
}

}  // namespace

void read_prices(Reader& table, Prices& prices, ErrorList&) {
  prices.from_catalogue = table.optional_enum<bool>(
      "base", !table.has("node") && !table.has("device"), {{"catalogue", true}, {"none", false}});
  prices.lifetime = table.optional<Seconds>("lifetime", Seconds{}, spec::Zero::kAllowed).value;
  const auto flat = [&](const char* key, double& out) {
    const std::string text = table.optional_string(key);
    if (text.empty()) return;
    UnitRate rate = money_for(text);
    if (rate.wrong.empty() && !(rate.amount >= 0))
      rate.wrong = fmt::format("'{}' is below 0", text);
    if (!rate.wrong.empty())
      table.fail(key, "explore.bad-price", fmt::format("{}: {}", key, rate.wrong),
                 "\"$20000\", or \"$2/h\"");
    else
      out = per_second(table, key, rate, prices.lifetime);
    if (prices.from_catalogue)
      table.fail(
          key, "explore.contradiction",
          fmt::format("base = \"catalogue\" takes the node's own price; {} would be a second", key),
          "base = \"none\"");
  };
  flat("node", prices.node_usd_per_s);
  flat("device", prices.device_usd_per_s);
  read_units(table, true, prices.lifetime, prices.usd_per_s);
  if (const std::string text = table.optional_string("electricity"); !text.empty()) {
    const std::size_t slash = text.rfind('/');
    double usd = 0;
    std::optional<double> joules;
    if (slash != std::string::npos) joules = parse_joules("1" + text.substr(slash + 1));
    if (!joules || !take<Usd>(std::string_view(text).substr(0, slash), usd) || !(usd >= 0))
      table.fail("electricity", "explore.bad-price",
                 fmt::format("'{}' is no price of energy", text), "\"$0.08/kWh\"");
    else
      prices.usd_per_joule = usd / *joules;
  }
  table.finish();
}

void read_power(Reader& table, Prices& prices, ErrorList&) {
  prices.node_watts = table.optional<Watts>("node", Watts{}, spec::Zero::kAllowed).value;
  read_units(table, false, 0, prices.watts);
  table.finish();
}

void read_constraints(Reader& table, Constraints& c, ErrorList&) {
  const auto most = [&](Goal goal) -> double& { return c.most[static_cast<std::size_t>(goal)]; };
  if (table.has("time")) most(Goal::kTime) = table.required<Seconds>("time").value;
  if (table.has("money")) most(Goal::kMoney) = table.required<Usd>("money").value;
  if (table.has("devices")) most(Goal::kDevices) = table.required_int("devices", 1);
  if (table.has("power")) c.watts = table.required<Watts>("power").value;
  if (table.has("price")) c.usd_per_hour = table.required<UsdPerHour>("price").value;
  if (table.has("energy")) {
    const std::string text = table.required_string("energy");
    const std::optional<double> joules = parse_joules(text);
    if (!joules || !(*joules > 0))
      table.fail("energy", "explore.bad-value", fmt::format("'{}' is no energy", text),
                 "\"2 GWh\"");
    else
      most(Goal::kEnergy) = *joules;
  }
  c.parameters_low = table.optional_double("parameters_from", 0, 0);
  c.parameters_high = table.optional_double("parameters_to", c.parameters_high, 0);
  if (c.parameters_low > c.parameters_high)
    table.fail("parameters_from", "explore.contradiction",
               fmt::format("parameters_from = {:g} is above parameters_to = {:g}", c.parameters_low,
                           c.parameters_high),
               "the smaller first");
  table.finish();
}

}  // namespace nereus::explore
