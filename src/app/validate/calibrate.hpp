// `nereus calibrate`: fits the numbers of stacks, devices and sites to measured runs, and writes
// them as a file that serves as --stack FILE.
//
// Rows of a stack that Nereus knows move that stack's numbers, its devices' and its site's. Rows of
// a stack that it does not know make a new one: it inherits the known stack that predicts the rows
// best, and a handful of numbers are fitted from its values, so that a few rows are enough.
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
  std::string as;            // every row is a run of this new stack
  bool from_priors = false;  // forget what is fitted already: how the built-in numbers are made
  int folds = 5;             // of cross-validation; 0 = none
};

struct CalibrateAnswer {
  std::vector<calibrate::FittedNumber> parameters;
  std::map<std::string, calibrate::ErrorSummary> fit_error;  // by set
  std::map<std::string, calibrate::ErrorSummary>
      cross_validated_error;                      // by set; empty without folds
  std::map<std::string, std::string> new_stacks;  // name -> what it inherits
  int rows = 0;
  int used = 0;
  std::string file_text;  // what -o writes
};

CalibrateAnswer calibrate(const CalibrateRequest& request, const ProgressSink& progress);

}  // namespace nereus::app
