// Measures a job: runs its blocks (job/measuring.hpp), round after round in changing order, until
// the time is over. The learning rate is zero, so that weights stay the same even without
// communication; nothing is saved.
//
//   measure_blocks(job, *comm, [&](const job::Message& m) { reporter.send(m); });
//
// All ranks must take part; rank 0 reports the times of all ranks.
#pragma once

#include <functional>

#include "job/job.hpp"
#include "job/message.hpp"
#include "worker/comm/comm.hpp"

namespace nereus::worker {

// Throws what Executor and make_reader throw, and CommError.
void measure_blocks(const job::Job& job, Comm& comm,
                    const std::function<void(const job::Message&)>& report);

}  // namespace nereus::worker
