// `nereus calibrate`: fits the numbers of stacks, devices and sites to measured runs, and writes
// them as a file for --stack FILE.
//
// Rows of a known stack change that stack's numbers, and those of its devices and its site. Rows of
// an unknown stack make a new stack: it inherits from the known stack that predicts the rows best,
// and only a few numbers are fitted, starting from that stack's values, so that a few rows are
// enough.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/progress.hpp"
#include "calibrate/cross_validate.hpp"
#include "calibrate/fit.hpp"

namespace nereus::app {

struct CalibrateRequest {
  std::vector<std::string> files;
  std::string as;            // treat every row as a run of this new stack
  bool from_priors = false;  // ignore fitted values: this is how the built-in numbers are made
  int folds = 5;             // of cross-validation; 0 = none
};

struct CalibrateAnswer {
  std::vector<calibrate::FittedNumber> parameters;
  std::map<std::string, calibrate::ErrorSummary> fit_error;  // by set
  std::map<std::string, calibrate::ErrorSummary>
      cross_validated_error;                      // by set; empty without folds
  std::map<std::string, std::string> new_stacks;  // name -> the stack it inherits from
  int rows = 0;
  int used = 0;
  std::string file_text;  // content of the file that -o writes
};

CalibrateAnswer calibrate(const CalibrateRequest& request, const ProgressSink& progress);

}  // namespace nereus::app
