#include "app/validate/validate_runs.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "stack/stack_file.hpp"

namespace nereus::app {

ValidateAnswer validate(const ValidateRequest& request, const ProgressSink& progress) {
  cost::StackLibrary library = cost::builtin_stacks();
  std::string one;  // every row is predicted by this stack
  if (library.has(request.stack)) {
    one = request.stack;
  } else if (!request.stack.empty()) {
    // FILE, or FILE:NAME. A stack that is new with the file is meant for every row.
    std::string path = request.stack;
    const std::size_t colon = path.rfind(':');
    if (!std::filesystem::exists(path) && colon != std::string::npos) {
      one = path.substr(colon + 1);
      path = path.substr(0, colon);
    }
    const std::string only = cost::overlay_file(library, path);
    if (one.empty() && !only.empty() && !cost::builtin_stacks().has(only)) one = only;
    if (!one.empty()) library.resolve(one);  // lists the known names if it is unknown
  }
  auto table = std::make_shared<calibrate::RunTable>();
  for (const std::string& file : request.files)
    calibrate::append(*table, calibrate::read_runs(file, library));
  if (!one.empty())
    for (calibrate::Run& run : table->runs) run.stack = one;
  if (table->runs.empty())
    throw_input_error(
        "runs.none-usable", "no row of these files can be predicted: " + calibrate::reasons(*table),
        {request.files.front()},
        "rows need gpu and gpus, or node and nodes, and either a model of the catalog "
        "or layers, hidden, heads and seq");
  ValidateAnswer answer;
  if (request.left_out) {
    calibrate::LeaveOutOptions options{.by = *request.left_out};
    // Those of the built-in fit, which are near the solution for all rows.
    options.fit.start_at_priors = false;
    options.fit.least_gain = 1e-5;
    options.on_fit = [&](int done, int total) {
      if (progress) progress({"fits", static_cast<double>(done), static_cast<double>(total), ""});
    };
    answer.left_out = calibrate::leave_out(library, table->runs, options);
    answer.validation = calibrate::validate(*table, answer.left_out->library_of_runs());
  } else {
    answer.validation = calibrate::validate(*table, library);
  }
  answer.table = std::move(table);
  answer.library = std::move(library);
  return answer;
}

}  // namespace nereus::app
