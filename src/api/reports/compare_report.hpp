// Two plans side by side: what differs between them, and where the time and the memory go.
#pragma once

#include "api/form/report.hpp"
#include "app/predict/predict_plan.hpp"
#include "reproduce/contest.hpp"

namespace nereus::api {

Report compare_report(const app::PredictAnswer& a, const app::PredictAnswer& b);

// Why a plan won, or what beats it; and what more hardware would buy.
std::vector<Table> contest_tables(const app::PredictAnswer& own, const app::Contest& contest);
std::string contest_json(const app::PredictAnswer& own, const app::Contest& contest);

}  // namespace nereus::api
