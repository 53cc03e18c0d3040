// The samples of a rank's micro-batches, prepared ahead by threads in the order its passes read
// them.
//
//   Executor executor(job, comm, make_reader(job, rank, first_step));
#pragma once

#include "worker/executor.hpp"

namespace nereus::worker {

// Throws Errors where the data cannot serve the model.
ReadBatch make_reader(const job::Job& job, int rank, std::int64_t first_step);

}  // namespace nereus::worker
