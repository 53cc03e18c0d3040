// Samples from a safetensors file with `inputs` [N, ..] and `targets` [N, ..], row by row, as
// python/nereus_export.py writes it. data/sample_source.hpp says which row the g-th sample is.
//
//   ReadBatch read = tensor_reader(job);
#pragma once

#include "worker/execute/executor.hpp"

namespace nereus::worker {

// Throws Errors if the file is not valid.
ReadBatch tensor_reader(const job::Job& job);

}  // namespace nereus::worker
