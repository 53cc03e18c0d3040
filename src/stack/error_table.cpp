#include "stack/error_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace nereus::cost {

namespace {

constexpr int kMoreDevices = 2;  // up to so many times as many devices are nothing new
constexpr double kLess = 0.25;   // of what an unseen source brings

const ErrorScale& scale_of(const ErrorTable& table, Quantity quantity) {
  return table.scales[static_cast<std::size_t>(quantity)];
}

// Runs whose key agrees with `key` where it is not empty.
SeenRuns count(const ErrorScale& scale, const SeenKey& key) {
  SeenRuns sum;
  for (const auto& [own, runs] : scale.seen) {
    bool same = true;
    for (std::size_t i = 0; i < key.size(); ++i) same &= key[i].empty() || key[i] == own[i];
    if (!same) continue;
    sum.rows += runs.rows;
    sum.most_devices = std::max(sum.most_devices, runs.most_devices);
  }
  return sum;
}

// The nearest name that some run has; empty if none has.
template <class Count>
std::string nearest_known(const std::vector<std::string>& names, const Count& rows_of) {
  for (const std::string& name : names)
    if (rows_of(name) > 0) return name;
  return {};
}

struct Support {
  std::string software;  // that runs have; empty: none
  std::string device;
};

Support support_of(const ErrorScale& scale, const Conditions& c) {
  return {nearest_known(c.software,
                        [&](const auto& name) {
                          return count(scale, {"", name, "", ""}).rows;
                        }),
          nearest_known(c.devices, [&](const auto& name) {
            return count(scale, {"", "", name, ""}).rows;
          })};
}

// Of all quantities.
bool any_run(const ErrorTable& table, const SeenKey& key) {
  return std::any_of(table.scales.begin(), table.scales.end(),
                     [&](const ErrorScale& scale) { return count(scale, key).rows > 0; });
}

struct Unseen {
  std::vector<std::string> names;
  double weight = 0;  // n
  void add(std::string name, bool entirely = false) {
    names.push_back(std::move(name));
    weight += entirely ? 1 : kLess;
  }
};

Unseen unseen_of(const ErrorTable& table, Quantity quantity, const Conditions& c,
                 const Support& at) {
  const ErrorScale& scale = scale_of(table, quantity);
  Unseen unseen;
  const std::string& software = c.software.front();
  const std::string& device = c.devices.front();
  const bool known_software = at.software == software;
  const bool known_device = at.device == device;
  if (!known_software)
    unseen.add(software, at.software.empty() && !any_run(table, {"", software, "", ""}));
  if (!known_device) unseen.add(device, at.device.empty() && !any_run(table, {"", "", device, ""}));
  const bool known_pair = count(scale, {"", at.software, at.device, ""}).rows > 0;
  if (known_software && known_device && !known_pair)
    unseen.add(fmt::format("{} on {}", software, device));
  if (count(scale, {c.family, "", "", ""}).rows == 0)
    unseen.add(c.family, !any_run(table, {c.family, "", "", ""}));
  else if (known_software && count(scale, {c.family, software, "", ""}).rows == 0)
    unseen.add(fmt::format("{} with {}", c.family, software));
  if (quantity == Quantity::kMemory) return unseen;
  if (known_pair && count(scale, {"", at.software, at.device, c.precision}).rows == 0)
    unseen.add(c.precision);
  if (const int most = count(scale, {"", at.software, "", ""}).most_devices;
      known_software && c.num_devices > kMoreDevices * most)
    unseen.add(fmt::format("more than {} devices", most));
  for (const std::string& feature : c.features)
    if (!table.features.contains(feature)) unseen.add(feature);
  return unseen;
}

// The most alike of the runs that there are.
void add_basis(const ErrorScale& scale, const Conditions& c, const Support& at, ErrorBand& band) {
  for (const SeenKey& key :
       {SeenKey{c.family, at.software, at.device, c.precision},
        SeenKey{c.family, at.software, at.device, ""}, SeenKey{"", at.software, at.device, ""},
        SeenKey{"", at.software, "", ""}, SeenKey{"", "", at.device, ""}}) {
    // The last two are of one thing that is known, each.
    if ((key[2].empty() && at.software.empty()) || (key[1].empty() && at.device.empty())) continue;
    band.rows = count(scale, key).rows;
    if (band.rows == 0) continue;
    std::vector<std::string> words;
    for (const std::string& word : key)
      if (!word.empty()) words.push_back(word);
    band.basis = fmt::format("{}", fmt::join(words, ", "));
    return;
  }
}

bool is_known(const ErrorTable& table, const Conditions& c) {
  if (c.software.empty() || c.devices.empty()) return false;
  return std::any_of(table.scales.begin(), table.scales.end(), [&](const ErrorScale& scale) {
    const Support at = support_of(scale, c);
    return !at.software.empty() || !at.device.empty();
  });
}

double widened(double unseen, double weight) {
  return std::sqrt(1 + weight * (unseen * unseen - 1));
}

double spread_of(const ErrorTable& table, const Conditions& c) {
  const bool own = std::any_of(c.software.begin(), c.software.end(), [&](const std::string& name) {
    return table.fits.software.contains(name);
  });
  return table.fits.spread * (own ? 1 : widened(scale_of(table, Quantity::kMemory).unseen, kLess));
}

}  // namespace

std::vector<std::string> effects_of(Quantity quantity, const Conditions& c) {
  std::vector<std::string> effects = {"family:" + c.family, "stack:" + c.stack,
                                      "width:" + c.precision, "size:" + c.size};
  if (!c.software.empty()) effects.push_back("software:" + c.software.front());
  if (!c.devices.empty()) effects.push_back("device:" + c.devices.front());
  if (quantity == Quantity::kMemory) effects.push_back("fill:" + c.fill);
  return effects;
}

SeenKey seen_key(const Conditions& c) {
  return {c.family, c.software.empty() ? "" : c.software.front(),
          c.devices.empty() ? "" : c.devices.front(), c.precision};
}

std::optional<ErrorBand> ErrorTable::band(Quantity quantity, const Conditions& given) const {
  const ErrorScale& scale = scale_of(*this, quantity);
  if (scale.seen.empty() || !is_known(*this, given)) return std::nullopt;
  const Support at = support_of(scale, given);
  ErrorBand band;
  const Unseen unseen = unseen_of(*this, quantity, given, at);
  band.unseen = unseen.names;
  add_basis(scale, given, at, band);
  // A relative's effects stand in for those of the software and of the device.
  Conditions c = given;
  if (!at.software.empty()) c.software = {at.software};
  if (!at.device.empty()) c.devices = {at.device};
  double ln = scale.all;
  for (const std::string& name : effects_of(quantity, c))
    if (const auto effect = scale.effects.find(name); effect != scale.effects.end())
      ln += effect->second.value;
  const double s = std::exp(ln) * widened(scale.unseen, unseen.weight);
  for (std::size_t i = 0; i < band.quantiles.size(); ++i)
    band.quantiles[i] = s * scale.quantiles[i];
  band.mean_abs = s * scale.mean_abs;
  band.median_abs = s * scale.median_abs;
  return band;
}

std::optional<double> ErrorTable::fits_probability(const Conditions& c, double predicted,
                                                   double capacity) const {
  if (!(fits.spread > 0) || !is_known(*this, c) || !(predicted > 0) || !(capacity > 0))
    return std::nullopt;
  const double x = (std::log(capacity / predicted) - fits.center) / spread_of(*this, c);
  return 1 / (1 + std::exp(-x));
}

std::optional<double> ErrorTable::headroom_for(const Conditions& c, double probability) const {
  if (!(fits.spread > 0) || !is_known(*this, c)) return std::nullopt;
  const double odds = std::log(probability / (1 - probability));
  return std::max(0.0, 1 - std::exp(-fits.center - spread_of(*this, c) * odds));
}

bool ErrorTable::has(std::string_view software, std::string_view device) const {
  return count(scale_of(*this, Quantity::kStep),
               {"", std::string(software), std::string(device), ""})
             .rows > 0;
}

void ErrorTable::merge(const ErrorTable& other) {
  for (std::size_t q = 0; q < scales.size(); ++q) {
    if (other.scales[q].seen.empty()) continue;
    // The first table of a quantity brings its distribution too.
    if (scales[q].seen.empty()) scales[q] = other.scales[q];
    for (const auto& [name, effect] : other.scales[q].effects) scales[q].effects[name] = effect;
    for (const auto& [key, runs] : other.scales[q].seen) scales[q].seen[key] = runs;
  }
  if (!(fits.spread > 0)) fits = other.fits;
  features.insert(other.features.begin(), other.features.end());
  sources.insert(other.sources.begin(), other.sources.end());
}

}  // namespace nereus::cost
