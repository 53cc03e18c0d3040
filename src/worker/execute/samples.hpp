// The samples of a rank's micro-batches, prepared ahead by threads in the order its passes read
// them.
//
//   Executor executor(job, comm, make_reader(job, rank, first_step));
#pragma once

#include "data/sample_source.hpp"
#include "worker/execute/executor.hpp"

namespace nereus::worker {

using Source = std::shared_ptr<const data::SampleSource>;

// What the job's samples are read from, where that is not tensors. A file of tokens is mapped while
// it lives. Throws Errors where the data cannot serve the model.
Source open_source(const job::Job& job);

// `source`: where it is open already; else it is opened. Throws what open_source() throws.
ReadBatch make_reader(const job::Job& job, int rank, std::int64_t first_step, Source source = {});

// What the rank reads in the steps from `first_step` up to the job's last: the files leave the page
// cache (which they do not where another process maps them), or its samples come into it. False
// where there are no files.
bool make_cold(const job::Job& job, int rank, std::int64_t first_step, Source source = {});
bool make_warm(const job::Job& job, int rank, std::int64_t first_step, Source source = {});

}  // namespace nereus::worker
