#include "app/predict/samples_to_target.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/parse_number.hpp"
#include "plan/check.hpp"
#include "spec/csv.hpp"

namespace nereus::app {

namespace {

bool number(std::string_view text, double& value) {
  value = parse_number<double>(text).value_or(0);
  return value >= 1 && value <= 1e18;
}

std::vector<SamplesToTarget> known_targets() {
  std::vector<SamplesToTarget> known;
  const spec::Csv csv =
      spec::parse_csv(embedded_text("batch/critical.csv"), "data/batch/critical.csv");
  for (const spec::CsvRow& row : csv.rows) {
    const auto cell = [&](const char* name) { return std::string(csv.cell(row, csv.find(name))); };
    SamplesToTarget own;
    own.name = cell("benchmark");
    own.least = std::stod(cell("least_samples"));
    own.critical = std::stod(cell("critical_batch"));
    own.smallest = std::stod(cell("smallest_batch"));
    own.largest = std::stod(cell("largest_batch"));
    own.model = cell("model");
    if (!cell("seq").empty()) own.seq = std::stoi(cell("seq"));
    known.push_back(std::move(own));
  }
  return known;
}

}  // namespace

SamplesToTarget read_samples_to_target(const std::string& text) {
  SamplesToTarget out;
  out.name = text;
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos) {
    if (!number(std::string_view(text).substr(0, colon), out.least) ||
        !number(std::string_view(text).substr(colon + 1), out.critical))
      throw_input_error("plan.samples-to-target",
                        fmt::format("--samples-to-target takes LEAST:CRITICAL, two numbers of at "
                                    "least 1, not '{}'",
                                    text),
                        {}, "--samples-to-target 44e6:46900");
    return out;
  }
  const std::vector<SamplesToTarget> known = known_targets();
  std::vector<std::string> names, all;
  for (const SamplesToTarget& own : known) {
    if (own.name == text || own.model == text) return own;
    names.insert(names.end(), {own.name, own.model});
    all.push_back(fmt::format("{} ({})", own.name, own.model));
  }
  const auto near = nearest(text, names);
  throw_input_error(
      "plan.samples-to-target", fmt::format("there is no target '{}'", text), {},
      fmt::format("{}known: {}; or LEAST:CRITICAL",
                  near ? fmt::format("did you mean {}? ", *near) : "", fmt::join(all, ", ")));
}

std::vector<int> batches_of(const SamplesToTarget& target) {
  std::vector<int> out;
  const double most = std::min<double>(target.largest > 0 ? target.largest : 4 * target.critical,
                                       plan::kMostSamples);
  for (int batch = 1; batch <= most; batch *= 2)
    if (batch >= target.smallest || batch * 2 > most) out.push_back(batch);
  return out;
}

}  // namespace nereus::app
