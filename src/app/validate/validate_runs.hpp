// `nereus validate`: compares predictions with measured runs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/progress.hpp"
#include "calibrate/leave_out.hpp"
#include "calibrate/validation.hpp"

namespace nereus::app {

struct ValidateRequest {
  std::vector<std::string> files;  // tables of runs
  std::string stack;  // replaces each row's stack: a name, or a file whose stacks override ours
  // Predict each row by a fit to the other rows that has not seen its group.
  std::optional<calibrate::LeftOutBy> left_out;
  // Leave out groups, then sources, for the error table that is built in.
  bool error_table = false;
};

struct ValidateAnswer {
  std::shared_ptr<const calibrate::RunTable> table;  // the results point into it
  calibrate::Validation validation;
  cost::StackLibrary library;  // that the rows were predicted with, unless they were left out
  std::optional<calibrate::LeftOut> left_out;
  std::string error_table;  // content of data/stacks/3-left-out.csv
};

ValidateAnswer validate(const ValidateRequest& request, const ProgressSink& progress = {});

}  // namespace nereus::app
