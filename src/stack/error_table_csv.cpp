// The CSV form of an error table: one line per number, with what it is of and the runs behind it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/parse_number.hpp"
#include "spec/csv.hpp"
#include "stack/error_table.hpp"

namespace nereus::cost {

namespace {

constexpr std::array<std::string_view, kNumQuantities> kQuantities = {"step", "memory"};
constexpr std::array<std::string_view, 5> kQuantiles = {"q05", "q10", "q50", "q90", "q95"};

std::string line(std::string_view quantity, std::string_view kind, const std::string& name,
                 std::string value, int rows = 0, int groups = 0, int devices = 0) {
  const auto cell = [](int n) { return n > 0 ? std::to_string(n) : std::string(); };
  return fmt::format("{},{},{},{},{},{},{}\n", quantity, kind, spec::write_csv_cell(name), value,
                     cell(rows), cell(groups), cell(devices));
}

std::string number(double value) { return fmt::format("{:.4f}", value); }

std::string join(const SeenKey& key) {
  return fmt::format("{}|{}|{}|{}", key[0], key[1], key[2], key[3]);
}

SeenKey split(const std::string& name) {
  SeenKey key;
  std::size_t from = 0;
  for (std::string& part : key) {
    const std::size_t bar = std::min(name.find('|', from), name.size());
    part = name.substr(std::min(from, name.size()), bar - std::min(from, name.size()));
    from = bar + 1;
  }
  return key;
}

}  // namespace

std::string write_error_table(const ErrorTable& table) {
  std::string out = "quantity,kind,name,value,rows,groups,devices\n";
  for (std::size_t q = 0; q < table.scales.size(); ++q) {
    const ErrorScale& scale = table.scales[q];
    if (scale.seen.empty()) continue;
    const std::string_view quantity = kQuantities[q];
    out += line(quantity, "scale", "all", number(scale.all));
    out += line(quantity, "scale", "unseen", number(scale.unseen));
    out += line(quantity, "scale", "mean", number(scale.mean_abs));
    out += line(quantity, "scale", "median", number(scale.median_abs));
    for (std::size_t i = 0; i < kQuantiles.size(); ++i)
      out += line(quantity, "quantile", std::string(kQuantiles[i]), number(scale.quantiles[i]));
    for (const auto& [name, effect] : scale.effects)
      out += line(quantity, "effect", name, number(effect.value), effect.rows, effect.groups);
    for (const auto& [key, runs] : scale.seen)
      out += line(quantity, "runs", join(key), "", runs.rows, 0, runs.most_devices);
  }
  if (table.fits.spread > 0) {
    out += line("fits", "curve", "center", number(table.fits.center));
    out += line("fits", "curve", "spread", number(table.fits.spread));
    for (const std::string& name : table.fits.software) out += line("fits", "failed", name, "");
  }
  for (const std::string& name : table.features) out += line("plan", "feature", name, "");
  for (const std::string& name : table.sources) out += line("runs", "source", name, "");
  return out;
}

ErrorTable parse_error_table(std::string_view text, const std::string& file) {
  const spec::Csv csv = spec::parse_csv(text, file);
  csv.require_all({"quantity", "kind", "name", "value", "rows", "groups", "devices"});
  ErrorTable table;
  ErrorList errors;
  for (const spec::CsvRow& row : csv.rows) {
    const auto cell = [&](const char* column) { return csv.cell(row, csv.find(column)); };
    const auto count = [&](const char* column) {
      const std::string text_of = cell(column);
      if (text_of.empty()) return 0;
      const std::optional<int> n = parse_number<int>(text_of);
      if (!n || *n < 0)
        errors.add("stack.error-table", fmt::format("{} is not a count", column),
                   csv.where(row, csv.find(column)));
      return n.value_or(0);
    };
    const std::string quantity = cell("quantity");
    const std::string kind = cell("kind");
    const std::string name = cell("name");
    double value = 0;
    if (const std::string text_of = cell("value"); !text_of.empty()) {
      const std::optional<double> read = parse_number<double>(text_of);
      if (!read || !std::isfinite(*read))
        errors.add("stack.error-table", "value is not a number", csv.where(row, csv.find("value")));
      value = read.value_or(0);
    }
    if (kind == "feature") {
      table.features.insert(name);
    } else if (kind == "source") {
      table.sources.insert(name);
    } else if (kind == "failed") {
      table.fits.software.insert(name);
    } else if (kind == "curve" && (name == "center" || name == "spread")) {
      (name == "center" ? table.fits.center : table.fits.spread) = value;
    } else if (quantity != kQuantities[0] && quantity != kQuantities[1]) {
      errors.add("stack.error-table", fmt::format("{} is not a quantity", quantity),
                 csv.where(row, csv.find("quantity")), "step or memory");
    } else {
      ErrorScale& scale = table.scales[quantity == kQuantities[0] ? 0 : 1];
      const auto quantile = std::find(kQuantiles.begin(), kQuantiles.end(), name);
      if (kind == "effect") {
        scale.effects[name] = {value, count("rows"), count("groups")};
      } else if (kind == "runs") {
        scale.seen[split(name)] = {count("rows"), count("devices")};
      } else if (kind == "quantile" && quantile != kQuantiles.end()) {
        scale.quantiles[static_cast<std::size_t>(quantile - kQuantiles.begin())] = value;
      } else if (kind == "scale" && name == "all") {
        scale.all = value;
      } else if (kind == "scale" && name == "unseen") {
        scale.unseen = std::max(1.0, value);
      } else if (kind == "scale" && (name == "mean" || name == "median")) {
        (name == "mean" ? scale.mean_abs : scale.median_abs) = value;
      } else {
        errors.add("stack.error-table", fmt::format("there is no {} {}", kind, name),
                   csv.where(row));
      }
    }
  }
  errors.throw_if_any();
  return table;
}

}  // namespace nereus::cost
