#include "app/validate.hpp"

#include "base/error.hpp"
#include "cost/stack_file.hpp"
#include "spec/value.hpp"

namespace nereus::app {

ValidateAnswer validate(const ValidateRequest& request) {
  cost::StackLibrary library = cost::builtin_stacks();
  std::string one;  // every row is predicted by this stack
  if (library.has(request.stack)) {
    one = request.stack;
  } else if (!request.stack.empty()) {
    cost::overlay_stacks(library, spec::read_text_file(request.stack), request.stack);
  }
  auto table = std::make_shared<calibrate::RunTable>();
  for (const std::string& file : request.files)
    calibrate::append(*table, calibrate::read_runs(file, library));
  if (!one.empty())
    for (calibrate::Run& run : table->runs) run.stack = one;
  if (table->runs.empty())
    throw_input_error("runs.none-usable", "no row of these files can be predicted",
                      {request.files.front()},
                      "rows need layers, hidden, heads, seq, gpu, gpus, tp, pp, dp, micro_batch, "
                      "global_batch and precision");
  ValidateAnswer answer;
  answer.validation = calibrate::validate(*table, library);
  answer.table = std::move(table);
  return answer;
}

}  // namespace nereus::app
