#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/form/exit_codes.hpp"
#include "api/reports/prediction_report.hpp"
#include "api/verbs/verbs.hpp"
#include "app/predict/predict_plan.hpp"

namespace nereus::api {

void add_prediction_options(Command& command, app::PredictRequest& request) {
  command.optional_argument("PLAN", request.plan_file,
                            "a plan file, instead of --model, --cluster and degrees");
  add_model_options(command, request.model);
  add_cluster_options(command, request.cluster);
  add_set_option(command, &request.model, &request.cluster);
  add_degrees_options(command, request.degrees);
  add_calibration_options(command, request.calibration);
}

Verb predict_verb(Caller& caller) {
  struct Request {
    app::PredictRequest predict;
    OutputOptions output;
  };
  auto request = std::make_shared<Request>();
  auto command = std::make_unique<Command>(
      "predict", "predict time, memory and cost of one training step of a given plan");
  add_prediction_options(*command, request->predict);
  add_output_options(*command, request->output);
  command->about(
      "Options that are not given are derived and shown. A plan that does not fit in memory is "
      "predicted nevertheless (fits: no). Without arguments it predicts llama3-70b on 16xdgx-h100 "
      "with tp 8, pp 4 and zero 1.");
  command->example(
      "nereus predict --model llama3-8b --cluster 4xdgx-h100 --tp 2 --global-batch 512",
      "a plan on 32 H100s");
  command->example(
      "nereus predict --model gpt3-175b --cluster 128xdgx-a100-80 --tp 8 --pp 16 --recompute full "
      "--format json",
      "JSON for scripts");
  command->example("nereus predict --model config.json --cluster 8xp4d.24xlarge --zero 3",
                   "a Hugging Face model in the cloud");
  command->run = [&caller, request] {
    const app::PredictAnswer answer = app::predict(request->predict);
    Report report = prediction_report(answer);
    if (request->output.format == Format::kCsv) report.tables = {prediction_row(answer)};
    caller.answer(report, request->output);
    return kDone;
  };
  return command;
}

}  // namespace nereus::api
