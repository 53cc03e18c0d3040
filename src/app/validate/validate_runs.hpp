// `nereus validate`: predictions against runs that somebody measured.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "calibrate/validation.hpp"

namespace nereus::app {

struct ValidateRequest {
  std::vector<std::string> files;  // tables of runs
  std::string
      stack;  // instead of each row's own: a name, or a file whose stacks are laid over ours
};

struct ValidateAnswer {
  std::shared_ptr<const calibrate::RunTable> table;  // what the results point into
  calibrate::Validation validation;
  cost::StackLibrary library;  // what the rows were predicted with
};

ValidateAnswer validate(const ValidateRequest& request);

}  // namespace nereus::app
