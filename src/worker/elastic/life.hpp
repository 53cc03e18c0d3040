// A rank of one generation with its state, and functions for agreement between ranks.
//
//   Life life;  life.executor = ...;  life.state = host_state(...);
//   count_votes(*life.comm, true);            // also a barrier
#pragma once

#include <cstdint>
#include <memory>

#include "job/job.hpp"
#include "worker/comm/comm.hpp"
#include "worker/execute/executor.hpp"
#include "worker/execute/host_state.hpp"
#include "worker/execute/samples.hpp"
#include "worker/execute/saving.hpp"

namespace nereus::worker {

struct Life {
  std::int64_t generation = -1;
  int rank = 0;
  int num_ranks = 1;
  std::int64_t most_done = -1;  // checkpoints of later steps are ignored; -1: none are
  std::int64_t done = 0;        // steps whose updates are in the state
  double gradient_norm = 0;     // at the last of them
  bool complete = false;        // whether the job's last step is done
  job::Job job;
  ReadBatch read;
  std::unique_ptr<Comm> comm;  // must outlive the members below, which use it
  std::unique_ptr<Executor> executor;
  HostState state;
  std::unique_ptr<Saver> saver;

  // After `state` was written: makes training use it.
  void settle() {
    state.put_back();
    for (Optimizer::Slot& slot : executor->optimizer().slots()) slot.state->store_update();
  }
  std::int64_t state_bytes() const {
    std::size_t bytes = 0;
    for (const checkpoint::Part& part : state.parts) bytes += part.bytes.size();
    return static_cast<std::int64_t>(bytes);
  }
};

// The number of ranks that pass `yes` = true; also a barrier.
int count_votes(Comm& comm, bool yes);

// Broadcasts rank 0's number.
std::int64_t from_first(Comm& comm, std::int64_t number);

}  // namespace nereus::worker
