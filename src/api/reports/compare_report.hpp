// Two plans side by side: how they differ, and where their time and memory go.
#pragma once

#include "api/form/report.hpp"
#include "app/predict/predict_plan.hpp"
#include "reproduce/contest.hpp"

namespace nereus::api {

Report compare_report(const app::PredictAnswer& a, const app::PredictAnswer& b);

// Why a plan won, which plans beat it, and what more hardware would bring.
std::vector<Table> contest_tables(const app::PredictAnswer& own, const app::Contest& contest);
std::string contest_json(const app::PredictAnswer& own, const app::Contest& contest);

}  // namespace nereus::api
