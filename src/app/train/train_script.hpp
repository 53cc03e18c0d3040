// Data for models of the user's own (model/script_model.hpp): whether the folder is still what was
// planned, and whether the data have the shapes it was exported with.
//
//   check_script_data(job.data, model, true);    // throws train.data-kind, train.data-shape
#pragma once

#include "job/job.hpp"

namespace nereus::app {

void check_script_data(const job::Data& data, const model::Model& model, bool thoroughly);

}  // namespace nereus::app
