// Samples out of a safetensors file with `inputs` [N, ..] and `targets` [N, ..], row by row, as
// python/nereus_export.py writes it. Which row the g-th sample is: data/sample_source.hpp.
//
//   ReadBatch read = tensor_reader(job);
#pragma once

#include "worker/execute/executor.hpp"

namespace nereus::worker {

// Throws Errors where the file is not sound.
ReadBatch tensor_reader(const job::Job& job);

}  // namespace nereus::worker
