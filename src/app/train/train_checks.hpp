// Whether the files that a job reads are there, whole, and of its model: looked at before anything
// starts. Each check adds all that it finds wrong.
//
//   job::Data data = find_data("text.tokens", {}, errors);
//   check_data(data, &model, true, errors);
//
// `model` is nullptr where the plan itself is wrong; then only what needs no model is checked.
// `thoroughly` also reads files through: tokens against the vocabulary, checksums of a checkpoint.
#pragma once

#include "app/train/train.hpp"

namespace nereus::app {

// What one call throws, beside what the others find.
template <class Call>
void collect(ErrorList& errors, const Call& call) {
  try {
    call();
  } catch (const Errors& wrong) {
    for (const Error& error : wrong.list()) errors.add(error);
  }
}

// What kind of data a name is; not yet looked into.
job::Data find_data(const std::string& name, job::Data data, ErrorList& errors);
void check_data(const job::Data& data, const model::Model* model, bool thoroughly,
                ErrorList& errors);

// That the checkpoint to resume from is whole, of this model, and not at its end.
// What may differ and changes how it goes on becomes a note.
void check_resume(const TrainRequest& request, const plan::Plan* plan, bool thoroughly,
                  std::vector<std::string>& notes, ErrorList& errors);
// That all that the run is to write can be written, and that new checkpoints do not get among those
// of another run.
void check_outputs(const TrainRequest& request, ErrorList& errors);

}  // namespace nereus::app
