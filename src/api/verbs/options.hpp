// Options that several verbs share: functions that declare them on a command and fill the plain
// structs of app/predict/requests.hpp.
//
//   add_model_options(command, request.model);
//   add_output_options(command, output);
//   ...
//   caller.answer(report, output);
#pragma once

#include <string>

#include "api/form/command.hpp"
#include "api/form/report.hpp"
#include "app/predict/requests.hpp"

namespace nereus::api {

// Adds --format, and -o FILE unless the verb uses -o for something else.
void add_output_options(Command& command, OutputOptions& output, bool with_file = true);

// Adds --model and --cluster, and one --set for both (model.X=Y, cluster.X=Y). Because --set covers
// both, a verb must take them together.
void add_model_options(Command& command, app::ModelRequest& model);
void add_cluster_options(Command& command, app::ClusterRequest& cluster);
void add_set_option(Command& command, app::ModelRequest* model, app::ClusterRequest* cluster);

// --tp --pp --dp ... --schedule, and --stack --profile.
void add_degrees_options(Command& command, app::DegreesRequest& degrees);
// Parses one value of --offload, such as "expanded:optimizer=0.5,weights=1", and adds it to earlier
// ones.
void parse_offload(const std::string& text, app::DegreesRequest& degrees, ErrorList& errors);
// Parses one value of --state-types, such as "reduced=bf16,moments=int8", and adds it to `types`.
void parse_state_types(const std::string& text, plan::StateTypes& types, ErrorList& errors);
void add_calibration_options(Command& command, app::CalibrationRequest& calibration);

}  // namespace nereus::api
