// A prediction as a report: the summary, where the time goes, what memory holds; and the JSON that
// scripts rely on.
#pragma once

#include <optional>
#include <string>

#include "api/form/command.hpp"
#include "api/form/json.hpp"
#include "api/form/report.hpp"
#include "app/predict/predict_plan.hpp"

namespace nereus::api {

// Adds PLAN, --model, --cluster, --set, degrees, --stack and --profile.
void add_prediction_options(Command& command, app::PredictRequest& request);

// "tp 8 x pp 4 x dp 4, micro-batch 1 x 128, bf16".
std::string degrees_text(const plan::Degrees& degrees);
std::string_view tier_text(plan::Tier tier);  // "on host", "in expanded memory"

// Model FLOPs utilization with causal attention counted once (model/causal_flops.hpp).
double causal_mfu(const app::PredictAnswer& answer);
// How sure a prediction is.
// "25.1 s to 30.2 s, from 11 left-out runs of decoder, megatron, A100, 16-bit (median error 4 %)".
std::string step_interval_text(const app::PredictAnswer& answer);
// "; 80 %: 24 GiB to 30 GiB; fits with 98 %", or nothing if nothing is known.
std::string memory_interval_text(const app::PredictAnswer& answer);
std::string basis_text(const cost::ErrorBand& band);
std::string probability_text(double probability);  // "98 %", "over 99 %"
Json band_json(const std::optional<cost::ErrorBand>& band);
Json json_or_null(const std::optional<double>& number);

Report prediction_report(const app::PredictAnswer& answer);
// One row of raw numbers, for CSV.
Table prediction_row(const app::PredictAnswer& answer);
Table prediction_summary(const app::PredictAnswer& answer);
Table prediction_breakdown(const app::PredictAnswer& answer);
Table prediction_memory(const app::PredictAnswer& answer);
// The JSON form; its fields are a stable interface for scripts.
std::string prediction_json(const app::PredictAnswer& answer);

}  // namespace nereus::api
