// One measured training as a row of a table of runs (columns as in data/published/runs.csv), so
// that `nereus calibrate` fits the prediction to the machine it ran on, and `nereus validate`
// checks it.
//
//   check_record(path, plan);                  // before it starts: throws Errors
//   append_run("mine.csv", answer);            // makes the file, with its header, where it is new
#pragma once

#include <string>

#include "app/train/train.hpp"

namespace nereus::app {

// Transformers in the order of 1F1B or interleaved: what the columns can say.
void check_record(const std::string& path, const ResolvedPlan& plan);
void append_run(const std::string& path, const TrainAnswer& answer);

}  // namespace nereus::app
