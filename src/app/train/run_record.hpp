// Writes one measured training as a row of a table of runs (columns as in data/published/runs.csv),
// so that `nereus calibrate` can fit the prediction to the machine, and `nereus validate` can check
// it.
//
//   check_record(path, plan);                  // before training: throws Errors
//   append_run("mine.csv", answer);            // creates the file, with its header, if it is new
#pragma once

#include <string>

#include "app/train/train.hpp"

namespace nereus::app {

// The columns only support transformers with 1F1B or interleaved 1F1B.
void check_record(const std::string& path, const ResolvedPlan& plan);
void append_run(const std::string& path, const TrainAnswer& answer);

}  // namespace nereus::app
