#include "app/validate/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/median.hpp"
#include "calibrate/evaluate_runs.hpp"
#include "calibrate/fit_errors.hpp"
#include "logs/train_log.hpp"
#include "spec/csv.hpp"
#include "spec/source.hpp"
#include "stack/stack_file.hpp"

namespace nereus::app {

namespace {

using calibrate::Run;
using calibrate::RunTable;
using cost::Scope;
using cost::StackLibrary;

std::set<std::string> unknown_stacks(const std::vector<spec::Csv>& tables,
                                     const StackLibrary& library) {
  std::set<std::string> names;
  for (const spec::Csv& csv : tables) {
    const int column = csv.find("stack");
    for (const spec::CsvRow& row : csv.rows)
      if (const std::string& name = csv.cell(row, column); !name.empty() && !library.has(name))
        names.insert(name);
  }
  return names;
}

std::vector<const Run*> pointers(const RunTable& table) {
  std::vector<const Run*> runs;
  for (const Run& run : table.runs) runs.push_back(&run);
  return runs;
}

std::map<std::string, calibrate::ErrorSummary> errors_by_set(
    const calibrate::Validation& validation) {
  std::map<std::string, calibrate::ErrorSummary> errors;
  for (const auto& [set, summary] : validation.sets) errors[set] = summary.errors;
  return errors;
}

// What the verb works on while it runs.
class Calibration {
 public:
  Calibration(const CalibrateRequest& request, const ProgressSink& progress)
      : request_(request), progress_(progress), library_(cost::builtin_stacks()) {}

  CalibrateAnswer run() {
    for (const std::string& file : request_.files) open(file);
    std::set<std::string> fresh = unknown_stacks(tables_, library_);
    for (const LogRun& log : logs_) fresh.insert(log.stack());
    if (!request_.as.empty()) {
      if (library_.has(request_.as))
        throw_input_error("calibrate.known-stack",
                          fmt::format("there is already a stack \"{}\"", request_.as), {},
                          "use another name for --as");
      fresh = {request_.as};
    }
    table_ = read(library_, "generic");
    check();
    // A few rows must not change what thousands have determined: with new software, nothing else
    // is fitted.
    const bool made = make_stacks(fresh);
    if (made) {
      table_ = read(library_, "generic");
    } else {
      fit_known();
    }
    finish();
    return std::move(answer_);
  }

 private:
  bool stopped() const { return request_.stop && request_.stop(); }

  // A table by its ending, otherwise a log.
  void open(const std::string& path) {
    if (path.ends_with(".csv")) {
      tables_.push_back(spec::read_csv(path));
      return;
    }
    const std::string text = spec::read_text_file(path);
    if (logs::is_log(text))
      logs_.emplace_back(logs::read_log(text, path), request_.logs);
    else
      tables_.push_back(spec::parse_csv(text, path));
  }

  // The set of rows without one: the file's name.
  static std::string set_of(const std::string& path) {
    return std::filesystem::path(path).stem().string();
  }

  // With --as, all rows are of that stack once the library has it.
  RunTable read(const StackLibrary& library, const std::string& fallback) const {
    RunTable all;
    for (const spec::Csv& csv : tables_)
      calibrate::append(all, calibrate::parse_runs(csv, set_of(csv.file), library, fallback));
    for (const LogRun& log : logs_) {
      ++all.rows;
      all.runs.push_back(log.as(library, library.has(log.stack()) ? log.stack() : fallback));
    }
    if (!request_.as.empty() && library.has(request_.as))
      for (Run& run : all.runs) run.stack = request_.as;
    return all;
  }

  void check() const {
    if (table_.runs.empty())
      throw_input_error("runs.none-usable", "no row of these files can be predicted",
                        {request_.files.front()},
                        "rows need layers, hidden, heads, seq, gpu, gpus, tp, pp, dp, micro_batch, "
                        "global_batch and precision");
    if (std::none_of(table_.runs.begin(), table_.runs.end(),
                     [](const Run& run) { return !run.failed && run.suspect.empty(); }))
      throw_input_error("calibrate.nothing-measured",
                        "no row of these files has a step time to fit to", {request_.files.front()},
                        "failed and suspect rows have no usable step time");
  }

  bool make_stacks(const std::set<std::string>& names) {
    for (const std::string& name : names) {
      // The tables with the rows of this software alone.
      std::vector<spec::Csv> own = tables_;
      if (request_.as.empty())
        for (spec::Csv& csv : own)
          std::erase_if(csv.rows, [&](const spec::CsvRow& row) {
            return csv.cell(row, csv.find("stack")) != name;
          });
      const calibrate::ReadRuns rows_as = [&](const StackLibrary& library,
                                              const std::string& stack) {
        std::vector<Run> runs;
        for (const spec::Csv& csv : own)
          for (Run& run : calibrate::parse_runs(csv, set_of(csv.file), library, stack).runs) {
            run.stack = stack;
            runs.push_back(std::move(run));
          }
        for (const LogRun& log : logs_)
          if (!request_.as.empty() || log.stack() == name) runs.push_back(log.as(library, stack));
        return runs;
      };
      if (rows_as(library_, "generic").empty()) continue;
      calibrate::NewStackOptions options;
      options.stop = request_.stop;
      calibrate::NewStack made = calibrate::calibrate_new_stack(
          library_, name, rows_as, options, [&](int done, int total) {
            progress_({"fits", static_cast<double>(done), static_cast<double>(total), ""});
          });
      library_ = std::move(made.library);
      answer_.parameters.insert(answer_.parameters.end(), made.numbers.begin(), made.numbers.end());
      answer_.new_stacks.push_back({name, made.parent, made.by_name, made.kept(),
                                    std::move(made.time), std::move(made.memory)});
    }
    for (const NewStackAnswer& made : answer_.new_stacks) add_left_out(made.time);
    return !answer_.new_stacks.empty();
  }

  // The errors of rows left out, by set, and as a table from which predictions take intervals.
  void add_left_out(const calibrate::StackTrial& trial) {
    std::map<std::string, std::vector<double>> sets;
    std::vector<const calibrate::LeftOutRow*> rows;
    for (const calibrate::TrialRow& row : trial.errors) {
      sets[row.set].push_back(row.error);
      rows.push_back(&row.left_out);
    }
    for (const auto& [set, errors] : sets) {
      calibrate::ErrorSummary& out = answer_.cross_validated_error[set];
      out.used = static_cast<int>(errors.size());
      for (const double error : errors) out.mean_abs_error += error / out.used;
      out.median_abs_error = median(errors);
    }
    if (rows.empty()) return;
    const cost::ErrorTable known = library_.errors ? *library_.errors : cost::ErrorTable{};
    left_out_ += fmt::format("left_out = '''\n{}'''\n",
                             cost::write_error_table(calibrate::errors_of_stack(rows, known)));
  }

  void fit_known() {
    const std::vector<const Run*> usable = pointers(table_);
    std::set<std::string> suites;
    for (const Run* run : usable)
      if (!run->failed && run->suspect.empty()) suites.insert(run->suite);
    // A model is held out whole, so there are no more folds than models, and none with one model.
    const int folds =
        suites.size() < 2 ? 0 : std::min(request_.folds, static_cast<int>(suites.size()));
    calibrate::FitOptions options;
    options.start_at_priors = request_.from_priors;
    options.keep_uninformed = !request_.from_priors;
    options.stop = request_.stop;
    if (!request_.from_priors)
      // Own runs move what others settled, not the data sheets.
      for (cost::FreeNumber& number : library_.free)
        if (const double* value = library_.find(number.scope, number.parameter))
          number.prior = *value;
    const int passes = 1 + folds;
    progress_({"fits", 0, static_cast<double>(passes), ""});
    calibrate::FitResult fitted = calibrate::fit_all(library_, usable, options);
    progress_({"fits", 1, static_cast<double>(passes), ""});
    answer_.parameters = fitted.numbers;
    const StackLibrary before = std::exchange(library_, std::move(fitted.library));
    if (folds < 2 || stopped()) return;
    const calibrate::CrossValidation held_out =
        calibrate::cross_validate(before, usable, folds, options, [&](int done) {
          progress_({"fits", 1.0 + done, static_cast<double>(passes), ""});
        });
    if (stopped()) return;  // its fits were cut short
    answer_.cross_validated_error = held_out.sets;
  }

  // Errors of the result, and its file.
  void finish() {
    answer_.stopped = stopped();
    for (const LogRun& log : logs_)
      answer_.logs.push_back(
          log.summary(library_, request_.as.empty() ? log.stack() : request_.as));
    answer_.rows = table_.rows;
    const calibrate::Validation validation = calibrate::validate(table_, library_);
    answer_.used = validation.used;
    answer_.fit_error = errors_by_set(validation);
    std::set<std::string> seen;
    for (const Run& run : table_.runs) seen.insert(run.stack);
    std::vector<Scope> scopes;
    for (const std::string& name : seen) scopes.push_back({Scope::Kind::kStack, name});
    for (const calibrate::FittedNumber& number : answer_.parameters)
      if (number.fitted &&
          std::find(scopes.begin(), scopes.end(), number.number.scope) == scopes.end())
        scopes.push_back(number.number.scope);
    std::string comment = fmt::format(
        "# Written by nereus calibrate from {} rows of {}. Numbers of src/stack/parameters.hpp; "
        "low and high are\n"
        "# two standard deviations, rows how many runs tell something about the number.\n",
        answer_.used, fmt::join(request_.files, ", "));
    for (const NewStackAnswer& made : answer_.new_stacks)
      if (!made.kept)
        comment +=
            fmt::format("# {} has the numbers of {}: no fit predicted rows left out better.\n",
                        made.name, made.parent);
    answer_.file_text = cost::write_stacks(library_, scopes, comment + left_out_);
  }

  const CalibrateRequest& request_;
  const ProgressSink& progress_;
  StackLibrary library_;
  std::vector<spec::Csv> tables_;
  std::vector<LogRun> logs_;
  RunTable table_;
  CalibrateAnswer answer_;
  std::string left_out_;  // error tables of new stacks, as text of a stack file
};

}  // namespace

CalibrateAnswer calibrate(const CalibrateRequest& request, const ProgressSink& progress) {
  return Calibration(request, progress).run();
}

}  // namespace nereus::app
