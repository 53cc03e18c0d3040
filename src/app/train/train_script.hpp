// Data for a user's exported models (model/script_model.hpp): checks that the folder has not
// changed since planning, and that the data have the shapes of the export.
//
//   check_script_data(job.data, model, true);    // throws train.data-kind, train.data-shape
#pragma once

#include "job/job.hpp"

namespace nereus::app {

void check_script_data(const job::Data& data, const model::Model& model, bool thoroughly);

}  // namespace nereus::app
