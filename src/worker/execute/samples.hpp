// The samples of a rank's micro-batches, prepared ahead by threads in the order in which its passes
// read them.
//
//   Executor executor(job, comm, make_reader(job, rank, first_step));
#pragma once

#include "data/sample_source.hpp"
#include "worker/execute/executor.hpp"

namespace nereus::worker {

using Source = std::shared_ptr<const data::SampleSource>;

// The source of the job's samples, unless it is a file of tensors. A file of tokens is mapped
// during its lifetime. Throws Errors if the data do not fit the model.
Source open_source(const job::Job& job);

// If `source` is empty, calls open_source(). Throws what open_source() throws.
ReadBatch make_reader(const job::Job& job, int rank, std::int64_t first_step, Source source = {});

// For the samples that the rank reads from `first_step` to the job's last step: make_cold() evicts
// their files from the page cache (not possible if another process maps them), make_warm() reads
// them into it. Both return false if there are no files.
bool make_cold(const job::Job& job, int rank, std::int64_t first_step, Source source = {});
bool make_warm(const job::Job& job, int rank, std::int64_t first_step, Source source = {});

}  // namespace nereus::worker
