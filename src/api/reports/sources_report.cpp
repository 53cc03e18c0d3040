#include "api/reports/sources_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "api/form/json.hpp"
#include "cost/measured.hpp"

namespace nereus::api {

namespace {

using Kind = app::LayerSource::Kind;

// Measured layers are counted instead of listed if there are more than that many.
std::string text_of(const app::PredictAnswer& answer, std::size_t most_measured) {
  std::string text;
  for (const Kind kind : {Kind::kMeasured, Kind::kExtrapolated, Kind::kModelled}) {
    std::vector<std::string> names;
    for (const app::LayerSource& own : answer.sources) {
      std::string name = own.layer + " on " + own.device;
      if (own.kind == kind && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(std::move(name));
    }
    if (names.empty()) continue;
    const bool counted = kind == Kind::kMeasured && names.size() > most_measured;
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", to_string(kind),
                        counted ? fmt::format("{} kinds of layers", names.size())
                                : fmt::format("{}", fmt::join(names, ", ")));
  }
  return text;
}

}  // namespace

std::string sources_text(const app::PredictAnswer& answer) {
  return text_of(answer, answer.sources.size());
}

std::string sources_summary(const app::PredictAnswer& answer) { return text_of(answer, 3); }

std::string sources_json(const app::PredictAnswer& answer) {
  Json layers = Json::array();
  for (const app::LayerSource& own : answer.sources) {
    Json layer{{"layer", own.layer},
               {"device", own.device},
               {"tp", own.tp},
               {"micro_batch", own.samples},
               {"source", to_string(own.kind)}};
    if (own.high > 0) layer["measured_samples"] = {own.low, own.high};
    if (!own.why.empty()) layer["why"] = own.why;
    layers.push_back(layer);
  }
  return Json{{"layers", layers}, {"notes", answer.plan.basis.layers->notes}}.dump();
}

Table sources_table(const app::PredictAnswer& answer) {
  Table table{.name = "sources",
              .title = "Sources of the layer times",
              .columns = {{"layer", "layer"},
                          {"device", "device"},
                          {"tp", "tp"},
                          {"micro_batch", "samples"},
                          {"source", "time"},
                          {"why", "why"}}};
  table.columns[5].wrap = true;
  for (const app::LayerSource& own : answer.sources)
    table.rows.push_back({own.layer, own.device, own.tp, fmt::format("{:g}", own.samples),
                          std::string(to_string(own.kind)), own.why});
  for (const std::string& note : answer.plan.basis.layers->notes) table.notes.push_back(note);
  return table;
}

}  // namespace nereus::api
