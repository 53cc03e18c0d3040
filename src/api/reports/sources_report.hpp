// Reports which layers of a plan have measured times; only used if the request has profiles.
#pragma once

#include <string>

#include "api/form/report.hpp"
#include "app/predict/predict_plan.hpp"

namespace nereus::api {

// "measured: block on A100-SXM-40GB; modelled: embedding on A100-SXM-40GB".
std::string sources_text(const app::PredictAnswer& answer);
// "measured: 21 kinds of layers; modelled: max_pool2x2 on A100-SXM-40GB": for networks with many
// kinds of layers.
std::string sources_summary(const app::PredictAnswer& answer);
Table sources_table(const app::PredictAnswer& answer);
std::string sources_json(const app::PredictAnswer& answer);  // an object

}  // namespace nereus::api
