#include "api/reports/explore_json.hpp"

#include <cmath>

#include "api/form/json.hpp"
#include "api/reports/degrees_json.hpp"
#include "predict/prediction.hpp"

namespace nereus::api {

namespace {

using app::ExploreAnswer;
using app::PointDetail;
using explore::Axis;
using explore::Goal;
Json number_or_null(double value) { return value > 0 ? Json(value) : Json(nullptr); }

Json point_json(const ExploreAnswer& answer, const PointDetail& point) {
  const explore::Study& study = answer.study;
  const explore::Answer& own = point.answer;
  const explore::Variant& variant = study.variants[own.at.variant];
  Json json;
  json["point"] = own.point;
  json["name"] = point.name;
  json["workload"] = variant.name;
  json["machine"] = study.machines[own.at.machine].name;
  Json axes = Json::object();
  for (std::size_t i = 0; i < study.axes.size(); ++i) {
    const Axis axis = study.axes[i].axis;
    const double value = axis_value(study, own.at, i);
    axes[std::string(info(axis).name)] = info(axis).unit == explore::AxisUnit::kTopology
                                             ? Json(value_text(axis, value))
                                             : Json(value);
  }
  json["axes"] = std::move(axes);
  json["step_s"] = own.found.step;
  json["time_s"] = point.value(Goal::kTime);
  json["money_usd"] = number_or_null(point.value(Goal::kMoney));
  // 80 %; the job's money grows with its steps.
  const auto times = [&](double value, double r) {
    return point.error && value > 0 ? Json(value * std::exp(r)) : Json(nullptr);
  };
  const double low = point.error ? point.error->low() : 0;
  const double high = point.error ? point.error->high() : 0;
  json["step_low_s"] = times(own.found.step, low);
  json["step_high_s"] = times(own.found.step, high);
  json["money_low_usd"] = times(point.value(Goal::kMoney), low);
  json["money_high_usd"] = times(point.value(Goal::kMoney), high);
  json["energy_j"] = number_or_null(point.value(Goal::kEnergy));
  json["devices"] = static_cast<std::int64_t>(point.value(Goal::kDevices));
  const double units = variant.global_batch * variant.units_per_sample();
  const double per_step = point.value(Goal::kEnergy) / variant.steps();
  json[variant.model.tokens_per_sample > 0 ? "tokens_per_s" : "samples_per_s"] =
      units / own.found.step;
  json[variant.model.tokens_per_sample > 0 ? "energy_j_per_token" : "energy_j_per_sample"] =
      number_or_null(per_step / units);
  json["model_flops_utilization"] = point.prediction.mfu;
  json["memory_bytes"] = own.found.memory;
  json["binding"] = to_string(own.found.binding);
  Json seconds = Json::object();
  for (int i = 0; i < explore::kNumResources; ++i)
    seconds[std::string(to_string(static_cast<explore::Resource>(i)))] = point.seconds[i];
  json["resource_seconds"] = std::move(seconds);
  json["roofline"] = {{"flop_per_byte", point.roofline.intensity()},
                      {"ridge_flop_per_byte", point.roofline.ridge},
                      {"memory_bound_share", point.roofline.memory_bound}};
  json["quickest_without_memory_limit_s"] = number_or_null(own.beyond);
  json["degrees"] = degrees_json(own.found.degrees);
  Json parts = Json::object();
  for (int i = 0; i < cost::kNumParts; ++i)
    parts[std::string(to_string(static_cast<cost::Part>(i)))] = point.prediction.parts[i];
  json["breakdown"] = std::move(parts);
  return json;
}

Json sensitivity_json(const explore::Sensitivity& own) {
  Json json;
  json["resource"] = info(own.axis).name;
  json["value"] = own.value;
  json["changed"] = own.changed;
  json["step_s"] = own.step;
  json["same_plan_step_s"] = number_or_null(own.same_plan);
  json["best_plan_step_s"] = number_or_null(own.best_plan);
  json["same_plan_gain"] = own.same_plan > 0 ? Json(own.step / own.same_plan - 1) : Json(nullptr);
  json["best_plan_gain"] = own.best_plan > 0 ? Json(own.step / own.best_plan - 1) : Json(nullptr);
  if (own.axis == Axis::kMemory) json["surplus_bytes"] = own.surplus;
  json["degrees"] = degrees_json(own.degrees);
  return json;
}

Json break_even_json(const explore::BreakEven& own) {
  Json json;
  json["resource"] = info(own.axis).name;
  json["from"] = own.from;
  json["to"] = own.to;
  json["time_from_s"] = own.time_from ? Json(*own.time_from) : Json(nullptr);
  json["time_to_s"] = own.time_to ? Json(*own.time_to) : Json(nullptr);
  json["needed"] = own.needed;
  json["usd_per_hour_per_unit"] =
      own.unit_usd_per_s ? Json(*own.unit_usd_per_s * 3600) : Json(nullptr);
  return json;
}

}  // namespace

std::string explore_json(const ExploreAnswer& answer) {
  const explore::Answers& all = answer.answers;
  Json json;
  json["study"] = answer.study.name;
  json["points"] = all.strategies;
  json["clusters"] = all.points;
  json["evaluated"] = all.evaluated;
  json["seconds"] = answer.seconds;
  json["complete"] = answer.complete;
  if (!answer.why.empty()) json["why"] = answer.why;
  json["resumed_clusters"] = answer.resumed;
  json["database"] = answer.database.empty() ? Json(nullptr) : Json(answer.database);
  Json statuses = Json::object();
  for (int i = 0; i < explore::kNumStatuses; ++i)
    statuses[std::string(to_string(static_cast<explore::Status>(i)))] = all.by_status[i];
  json["statuses"] = std::move(statuses);
  Json bindings = Json::object();
  for (int i = 0; i < explore::kNumResources; ++i)
    bindings[std::string(to_string(static_cast<explore::Resource>(i)))] = all.by_binding[i];
  json["bindings"] = std::move(bindings);
  json["best"] = answer.best.empty() ? Json(nullptr) : point_json(answer, answer.best.front());
  Json best = Json::object();
  for (std::size_t i = 0; i < answer.best.size(); ++i)
    best[std::string(to_string(answer.study.goals[i]))] = point_json(answer, answer.best[i]);
  json["best_by_goal"] = std::move(best);
  json["pareto_size"] = all.front.size();
  Json front = Json::array();
  for (const PointDetail& point : answer.front) front.push_back(point_json(answer, point));
  json["pareto"] = std::move(front);
  Json sensitivity = Json::array();
  for (const explore::Sensitivity& own : answer.sensitivities)
    sensitivity.push_back(sensitivity_json(own));
  json["sensitivity"] = std::move(sensitivity);
  Json even = Json::array();
  for (const explore::BreakEven& own : answer.break_evens) even.push_back(break_even_json(own));
  json["break_even"] = std::move(even);
  Json machines = Json::array();
  for (const PointDetail& point : answer.machines) machines.push_back(point_json(answer, point));
  json["machines"] = std::move(machines);
  Json marginals = Json::array();
  for (const explore::Marginal& own : all.marginals) {
    const auto& axis = answer.study.axes[own.axis];
    Json line;
    line["axis"] = info(axis.axis).name;
    const explore::AxisValue& value = axis.values[own.position];
    line["value"] = value.value;
    line["relative"] = value.relative;
    line["best_step_s"] = own.best ? Json(own.best->found.step) : Json(nullptr);
    line["best_point"] = own.best ? Json(own.best->point) : Json(nullptr);
    marginals.push_back(std::move(line));
  }
  json["marginals"] = std::move(marginals);
  return json.dump();
}

}  // namespace nereus::api
