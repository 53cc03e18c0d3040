// `nereus calibrate`: fits the numbers of stacks, devices and sites to measured runs, and writes
// them as a file for --stack FILE.
//
// Rows of a known stack change that stack's numbers, and those of its devices and its site. Rows of
// an unknown stack make a new stack (calibrate/new_stack.hpp), which keeps its parent's numbers
// unless fitted ones predict rows better that they were not fitted to. If `stop` ends the work, a
// known stack has its numbers so far, and a new one those of its parent.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "app/progress.hpp"
#include "app/validate/log_runs.hpp"
#include "calibrate/cross_validate.hpp"
#include "calibrate/fit.hpp"
#include "calibrate/new_stack.hpp"

namespace nereus::app {

struct CalibrateRequest {
  std::vector<std::string> files;  // tables of runs, or logs of trainers
  LogRequest logs;                 // what logs leave out
  std::string as;                  // treat every row as a run of this new stack
  bool from_priors = false;    // ignore fitted values: this is how the built-in numbers are made
  int folds = 5;               // of cross-validation; 0 = none
  std::function<bool()> stop;  // ends the work early if it says so; may be empty
};

// A stack made for unknown software.
struct NewStackAnswer {
  std::string name;
  std::string parent;
  bool parent_by_name = false;  // else by the error of its predictions
  bool kept = false;            // false: the file has the parent's numbers
  calibrate::StackTrial time;
  calibrate::StackTrial memory;
};

struct CalibrateAnswer {
  std::vector<calibrate::FittedNumber> parameters;
  std::map<std::string, calibrate::ErrorSummary> fit_error;  // by set
  std::map<std::string, calibrate::ErrorSummary>
      cross_validated_error;  // by set; empty without folds
  std::vector<NewStackAnswer> new_stacks;
  std::vector<LogSummary> logs;
  int rows = 0;
  int used = 0;
  std::string file_text;  // content of the file that -o writes
  bool stopped = false;   // by an interrupt
};

CalibrateAnswer calibrate(const CalibrateRequest& request, const ProgressSink& progress);

}  // namespace nereus::app
