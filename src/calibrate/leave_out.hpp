// Predicts every run by a fit that has not seen it, nor anything like it.
//
// What is left out together is a group. By kGroups it is a model on a family of devices in one
// precision, in whatever sets such rows are: a fit that has seen a part of them has in effect seen
// the rest. By kSources it is a whole set, which asks what a source is told that nobody has seen.
// Groups are dealt to folds, the largest of each set first, and each fold is one fit of all free
// numbers to the rows of all other folds, from the same priors and by the same steps as the fit of
// all rows (calibrate/fit.hpp). Only its starting point is the solution for all rows, which saves
// most of the iterations: the objective, its priors and the numbers that too few rows inform are
// those of the fold alone.
//
//   LeftOut out = leave_out(library, table.runs, {.by = LeftOutBy::kGroups});
//   Validation v = validate(table, out.library_of_runs());
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibrate/fit.hpp"

namespace nereus::calibrate {

enum class LeftOutBy { kGroups, kSources };

struct LeaveOutOptions {
  LeftOutBy by = LeftOutBy::kGroups;
  int folds = 10;  // at most; there are no more than groups
  FitOptions fit;
  std::function<void(int, int)> on_fit = {};  // fits done, of how many; from one thread at a time
};

struct LeftOut {
  int groups = 0;
  std::vector<std::string> group_of;          // each run
  std::vector<int> fold_of;                   // each run
  std::vector<cost::StackLibrary> libraries;  // each fold: fitted to the other folds
  std::vector<const cost::StackLibrary*> library_of_runs() const;
};

// "llama270b|H100|bf16", or the set. Spelling of a model's name does not matter.
std::string left_out_group(const Run& run, LeftOutBy by);

LeftOut leave_out(const cost::StackLibrary& library, const std::vector<Run>& runs,
                  const LeaveOutOptions& options = {});

}  // namespace nereus::calibrate
