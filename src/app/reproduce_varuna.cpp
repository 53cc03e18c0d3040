#include "app/reproduce_varuna.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace nereus::app {

namespace {

struct Field {
  const char* name;
  const char* usual;
  double least, most;  // of numbers; both 0 for words
};

constexpr Field kFields[] = {
    {"part", "", 0, 0},                     // replay, spot or paper alone
    {"model", "", 0, 0},                    // one model alone
    {"trace", "", 0, 0},                    // one trace alone
    {"detect_s", "2", 0, 1e6},              // ours, from a loss until it is known; not measured yet
    {"bandwidth_gbit_s", "10", 1e-3, 1e6},  // of a machine, over which state moves
    {"notice_s", "30", 0, 1e6},             // on spot traces
    {"stages", "4", 1, 1e4},                // of the artifact's plans, for ours
    {"state_bytes_per_parameter", "16", 1, 64},
    {"look_ahead_s", "0", 0, 1e6},
    {"global_batch", "8192", 1, 1e6},  // of the paper's models
    {"machines", "64", 1, 4096},       // for the paper's claims
    {"jitter", "normal:2ms", 0, 0},    // of compute, as Varuna's simulator has it
    {"link_jitter", "delay:10ms", 0, 0},
};

const Field* find(const std::string& name) {
  for (const Field& own : kFields)
    if (name == own.name) return &own;
  return nullptr;
}

VarunaSettings read_settings(const ReproduceRequest& request) {
  VarunaSettings out;
  std::vector<std::string> names;
  for (const Field& own : kFields) {
    out.text[own.name] = own.usual;
    names.emplace_back(own.name);
  }
  ErrorList errors;
  for (const auto& [path, value] : request.overrides) {
    const std::size_t dot = path.find('.');
    const std::string study = path.substr(0, dot), name = path.substr(dot + 1);
    const Field* field = find(name);
    if (study != "all" || !field) {
      const std::optional<std::string> near = nearest(name, names);
      errors.add("reproduce.field", fmt::format("no field '{}'", path), {},
                 near ? "did you mean all." + *near
                      : fmt::format("all. and one of {}", fmt::join(names, ", ")));
      continue;
    }
    if (field->most > 0) {
      double number = 0;
      const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
      if (read.ec != std::errc() || read.ptr != value.data() + value.size() ||
          !(number >= field->least) || !(number <= field->most)) {
        errors.add("reproduce.value", fmt::format("{} is '{}'", path, value), {},
                   fmt::format("a number from {:g} to {:g}", field->least, field->most));
        continue;
      }
    }
    out.text[name] = value;
    if (name != "part" && name != "model" && name != "trace")
      out.options += fmt::format(" --set 'all.{}={}'", name, value);
  }
  const std::string& part = out.text["part"];
  if (!part.empty() && part != "replay" && part != "spot" && part != "paper")
    errors.add("reproduce.value", fmt::format("all.part is '{}'", part), {},
               "replay, spot or paper");
  errors.throw_if_any();
  return out;
}

}  // namespace

double VarunaSettings::number(const std::string& field) const { return std::stod(text.at(field)); }

bool VarunaSettings::wants(const std::string& field, const std::string& value) const {
  const std::string& wanted = text.at(field);
  return wanted.empty() || wanted == value;
}

ReproduceAnswer reproduce_varuna(const ReproduceRequest& request) {
  const VarunaSettings settings = read_settings(request);
  ReproduceAnswer out;
  out.system = "varuna";
  if (settings.wants("part", "paper")) add_paper_claims(settings, request, out);
  if (settings.wants("part", "replay")) add_replay_claims(settings, request, out);
  if (settings.wants("part", "spot")) add_spot_claims(settings, request, out);
  if (out.claims.empty() && out.complete)
    throw_input_error("reproduce.value",
                      fmt::format("nothing is known of model '{}' and trace '{}'",
                                  settings.text.at("model"), settings.text.at("trace")),
                      {}, "nereus reproduce varuna, for all of them");
  out.notes.emplace_back(
      "rules, and where and why numbers differ: docs/varuna.md; detection of ours (all.detect_s) "
      "is that of a machine "
      "that falls silent, as measured (docs/elastic-training.md)");
  return out;
}

}  // namespace nereus::app
