// A rank's state to and from checkpoints (checkpoint/): each element by the first rank that keeps
// it, read back on any other plan.
//
//   Saver saver(job, comm);
//   std::int64_t first = resume(job, executor);      // 0 where there is nothing to resume
//   saver.save(step + 1, executor);                  // returns once the state is copied
//   saver.finish();
#pragma once

#include "checkpoint/writer.hpp"
#include "worker/executor.hpp"

namespace nereus::worker {

class Saver {
 public:
  Saver(const job::Job& job, int rank, int num_ranks);
  bool saves() const { return writer_ != nullptr; }
  void save(std::int64_t steps_done, Executor& executor);
  void finish();  // waits for what is being written; throws its error
  std::vector<checkpoint::Writer::Complete> take_completed() {
    return writer_ ? writer_->take_completed() : std::vector<checkpoint::Writer::Complete>();
  }

 private:
  const job::Job* job_;
  std::unique_ptr<checkpoint::Writer> writer_;
};

// Steps that the checkpoint of job.checkpoint.resume had done; fills the executor's state.
std::int64_t resume(const job::Job& job, Executor& executor);

}  // namespace nereus::worker
