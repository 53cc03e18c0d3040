#include "api/reports/profile_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "api/form/json.hpp"

namespace nereus::api {

namespace {

// One row: a layer on a device at a precision, of all tp.
struct Measured {
  const profile::MeasuredLayer* layer;
  std::vector<int> degrees;
  double low, high;  // samples
  bool update = false;
};

std::vector<Measured> by_device(const profile::Profile& profile) {
  std::vector<Measured> rows;
  for (const profile::MeasuredLayer& layer : profile.layers) {
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const Measured& row) {
      return row.layer->model == layer.model && row.layer->device == layer.device &&
             row.layer->role == layer.role && row.layer->layer == layer.layer &&
             row.layer->precision == layer.precision && row.layer->seq == layer.seq;
    });
    Measured& row = same != rows.end()
                        ? *same
                        : rows.emplace_back(Measured{&layer, {}, layer.samples.front(), 0});
    if (std::find(row.degrees.begin(), row.degrees.end(), layer.tp) == row.degrees.end())
      row.degrees.push_back(layer.tp);
    row.low = std::min(row.low, layer.samples.front());
    row.high = std::max(row.high, layer.samples.back());
    row.update |= layer.update > 0;
  }
  return rows;
}

}  // namespace

Report profile_report(const app::ImportedProfile& imported) {
  const profile::Profile& profile = imported.profile;
  Table table{.name = "layers",
              .title = "Measured layers",
              .columns = {{"model", "model"},
                          {"device", "device"},
                          {"layer", "layer"},
                          {"precision", "precision"},
                          {"seq", "tokens"},
                          {"tp", "tp"},
                          {"samples", "samples"},
                          {"backward", "backward"},
                          {"update", "update"}}};
  Json json;
  json["files"] = imported.files;
  json["source"] = profile.origin.source;
  json["num_layers"] = profile.layers.size();
  Json layers = Json::array();
  for (const Measured& row : by_device(profile)) {
    const profile::MeasuredLayer& layer = *row.layer;
    table.rows.push_back({layer.model, layer.device,
                          layer.layer.empty() ? std::string(to_string(layer.role)) : layer.layer,
                          layer.precision, layer.seq > 0 ? Cell{layer.seq} : Cell{},
                          fmt::format("{}", fmt::join(row.degrees, ", ")),
                          fmt::format("{:g} to {:g}", row.low, row.high),
                          layer.backward.empty() ? "no" : "yes", row.update ? "yes" : "no"});
    layers.push_back({{"model", layer.model},
                      {"device", layer.device},
                      {"role", to_string(layer.role)},
                      {"layer", layer.layer.empty() ? Json(nullptr) : Json(layer.layer)},
                      {"precision", layer.precision},
                      {"seq", layer.seq},
                      {"parameters", layer.parameters},
                      {"tp", row.degrees},
                      {"samples", {row.low, row.high}},
                      {"backward", !layer.backward.empty()},
                      {"update", row.update}});
  }
  json["layers"] = layers;
  json["notes"] = profile.notes;
  table.notes.push_back(fmt::format(
      "source: {}", profile.origin.source.empty() ? "not known" : profile.origin.source));
  for (const std::string& note : profile.notes) table.notes.push_back(note);
  return {.tables = {table}, .json = json.dump(2)};
}

}  // namespace nereus::api
