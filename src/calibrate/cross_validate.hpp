// Cross-validation by model: all runs of a model are held out together, because rows of one model
// are similar, and a fit that has seen some of them has effectively seen the rest.
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
  // Errors of rows predicted by a fit that did not see their model, by set, and by stack and device
  // family.
  std::map<std::string, ErrorSummary> sets;
  std::map<std::pair<std::string, std::string>, ErrorSummary> stacks;
  std::vector<RowResult> held_out;  // neither failed nor suspect
};

// Models are assigned to folds round robin, ordered by their number of rows, so that folds have
// similar sizes. Calls `on_fold` with the number of folds done.
CrossValidation cross_validate(const cost::StackLibrary& library,
                               const std::vector<const Run*>& runs, int folds,
                               const FitOptions& options = {},
                               const std::function<void(int)>& on_fold = {});

}  // namespace nereus::calibrate
