#include "app/validate/validate_runs.hpp"

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "calibrate/coverage.hpp"
#include "calibrate/fit_errors.hpp"
#include "stack/stack_file.hpp"

namespace nereus::app {

namespace {

using calibrate::LeftOut;
using calibrate::LeftOutBy;
using calibrate::LeftOutRow;
using cost::Quantity;
using Tables = std::vector<std::shared_ptr<const cost::ErrorTable>>;

constexpr int kFoldsOfGroups = 10;
constexpr int kFoldsOfSources = 12;

// Whether the built-in numbers were fitted without these runs: none is of a set that they know.
bool are_new(const calibrate::RunTable& table, const cost::StackLibrary& library) {
  return library.errors &&
         std::none_of(table.runs.begin(), table.runs.end(), [&](const calibrate::Run& run) {
           return library.errors->sources.contains(run.set);
         });
}

LeftOut leave_out(LeftOutBy by, const calibrate::RunTable& table, const cost::StackLibrary& given,
                  const ProgressSink& progress) {
  const bool sources = by == LeftOutBy::kSources;
  calibrate::LeaveOutOptions options{.by = by, .folds = sources ? kFoldsOfSources : kFoldsOfGroups};
  // The built-in values, which are near the solution for all rows.
  options.fit.start_at_priors = false;
  options.fit.least_gain = 1e-5;
  cost::StackLibrary library = given;
  if (are_new(table, library)) {
    // They move what others settled, as own runs do in calibrate.
    options.fit.keep_uninformed = true;
    for (cost::FreeNumber& number : library.free)
      if (const double* value = library.find(number.scope, number.parameter)) number.prior = *value;
  }
  options.on_fit = [&](int done, int total) {
    if (progress)
      progress({sources ? "fits without a source" : "fits without some groups",
                static_cast<double>(done), static_cast<double>(total), ""});
  };
  return calibrate::leave_out(library, table.runs, options);
}

// With intervals from the runs of other groups (or sources) only.
void predict_left_out(const ValidateRequest& request, const calibrate::RunTable& table,
                      const cost::StackLibrary& library, const ProgressSink& progress,
                      ValidateAnswer& answer) {
  const LeftOutBy by = *request.left_out;
  answer.left_out = leave_out(by, table, library, progress);
  answer.validation = calibrate::validate(table, answer.left_out->library_of_runs());
  const std::vector<LeftOutRow> rows =
      calibrate::left_out_rows(answer.validation, *answer.left_out, library);
  std::vector<const LeftOutRow*> all;
  for (const LeftOutRow& row : rows) all.push_back(&row);
  cost::ErrorTable errors = calibrate::fit_errors(all);
  if (request.error_table) {
    const LeftOut sources = leave_out(LeftOutBy::kSources, table, library, progress);
    const calibrate::Validation apart = calibrate::validate(table, sources.library_of_runs());
    const std::vector<LeftOutRow> by_source = calibrate::left_out_rows(apart, sources, library);
    for (const Quantity quantity : {Quantity::kStep, Quantity::kMemory})
      errors.scales[static_cast<std::size_t>(quantity)].unseen =
          calibrate::unseen_factor(rows, by_source, quantity);
    answer.error_table = cost::write_error_table(errors);
  } else if (by == LeftOutBy::kGroups && library.errors) {
    for (std::size_t q = 0; q < errors.scales.size(); ++q)
      errors.scales[q].unseen = library.errors->scales[q].unseen;
  }
  if (are_new(table, library) && !request.error_table) {
    // The built-in table knows other groups only.
    calibrate::add_intervals(answer.validation, library, Tables(table.runs.size(), library.errors));
    return;
  }
  // A left-out source's errors are already those of a source that no fit has seen: u = 1.
  calibrate::add_intervals(answer.validation, library,
                           calibrate::tables_without_own_group(rows, errors));
}

void predict_all(const calibrate::RunTable& table, const cost::StackLibrary& library,
                 ValidateAnswer& answer) {
  answer.validation = calibrate::validate(table, library);
  calibrate::add_intervals(answer.validation, library, Tables(table.runs.size(), library.errors));
}

}  // namespace

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
  if (request.left_out)
    predict_left_out(request, *table, library, progress, answer);
  else
    predict_all(*table, library, answer);
  answer.table = std::move(table);
  answer.library = std::move(library);
  return answer;
}

}  // namespace nereus::app
