// `nereus validate`: compares predictions with measured runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "calibrate/validation.hpp"

namespace nereus::app {

struct ValidateRequest {
  std::vector<std::string> files;  // tables of runs
  std::string stack;  // replaces each row's stack: a name, or a file whose stacks override ours
};

struct ValidateAnswer {
  std::shared_ptr<const calibrate::RunTable> table;  // the results point into it
  calibrate::Validation validation;
  cost::StackLibrary library;  // that the rows were predicted with
};

ValidateAnswer validate(const ValidateRequest& request);

}  // namespace nereus::app
