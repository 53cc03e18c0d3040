// A job that is measured: its blocks (job/measuring.hpp), round after round in an order that
// changes, until the time is spent. The learning rate is zero, so that numbers stay what they are
// whoever talks; nothing is saved.
//
//   measure_blocks(job, *comm, [&](const job::Message& m) { reporter.send(m); });
//
// Every rank takes part; rank 0 reports every rank's time.
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
