// Cross-validation by model: all runs of a model are held out together, since rows of one model
// resemble each other and a fit that has seen some of them has seen the rest.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "calibrate/fit.hpp"
#include "calibrate/validation.hpp"

namespace nereus::calibrate {

struct CrossValidation {
  int folds = 0;
  // Of rows predicted by a fit that did not see their model, by set, and by stack and device
  // family.
  std::map<std::string, ErrorSummary> sets;
  std::map<std::pair<std::string, std::string>, ErrorSummary> stacks;
};

// Models go to folds round robin in the order of their number of rows, so that folds are of like
// size.
// `on_fold` is told how many folds are done.
CrossValidation cross_validate(const cost::StackLibrary& library,
                               const std::vector<const Run*>& runs, int folds,
                               const FitOptions& options = {},
                               const std::function<void(int)>& on_fold = {});

}  // namespace nereus::calibrate
