// Options that several verbs share, as functions that declare them on a command and fill the plain
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

// --format, and -o FILE unless the verb gives -o a meaning of its own.
void add_output_options(Command& command, OutputOptions& output, bool with_file = true);

// --model, --cluster; and one --set for both (model.X=Y, cluster.X=Y), so a verb asks for them
// together.
void add_model_options(Command& command, app::ModelRequest& model);
void add_cluster_options(Command& command, app::ClusterRequest& cluster);
void add_set_option(Command& command, app::ModelRequest* model, app::ClusterRequest* cluster);

// --tp --pp --dp ... --schedule, and --stack --profile.
void add_degrees_options(Command& command, app::DegreesRequest& degrees);
// One "expanded:optimizer=0.5,weights=1" of --offload, added to what was given before.
void parse_offload(const std::string& text, app::DegreesRequest& degrees, ErrorList& errors);
void add_calibration_options(Command& command, app::CalibrationRequest& calibration);

}  // namespace nereus::api
