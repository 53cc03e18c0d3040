// Checks that the files that a job reads exist, are complete, and belong to its model, before
// anything starts. Each check adds all errors that it finds.
//
//   job::Data data = find_data("text.tokens", {}, errors);
//   check_data(data, &model, true, errors);
//
// `model` is nullptr if the plan itself is wrong; then only checks without a model are done.
// `thoroughly` also reads whole files: tokens against the vocabulary, checksums of a checkpoint.
#pragma once

#include "app/train/train.hpp"

namespace nereus::app {

// Collects the errors that one call throws.
template <class Call>
void collect(ErrorList& errors, const Call& call) {
  try {
    call();
  } catch (const Errors& wrong) {
    for (const Error& error : wrong.list()) errors.add(error);
  }
}

// The kind of data that a name refers to; its content is not checked yet.
job::Data find_data(const std::string& name, job::Data data, ErrorList& errors);
void check_data(const job::Data& data, const model::Model* model, bool thoroughly,
                ErrorList& errors);

// Checks that the checkpoint to resume from is complete, belongs to this model, and has steps left.
// Allowed differences that affect training are reported in `notes`.
void check_resume(const TrainRequest& request, const plan::Plan* plan, bool thoroughly,
                  std::vector<std::string>& notes, ErrorList& errors);
// Checks that everything that the run writes can be written, and that new checkpoints do not mix
// with those of another run.
void check_outputs(const TrainRequest& request, ErrorList& errors);

}  // namespace nereus::app
