// A rank's state to and from checkpoints (checkpoint/): each element by the first rank that keeps
// it, read back on any other plan.
//
//   Saver saver(job, comm);
//   std::int64_t first = resume(job, executor);      // 0 where there is nothing to resume
//   saver.save(step + 1, executor);                  // returns once the state is copied
//   saver.finish();
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "checkpoint/writer.hpp"
#include "worker/execute/executor.hpp"

namespace nereus::worker {

class Saver {
 public:
  // `attempt`, `known`: as of checkpoint::WriterOptions.
  Saver(const job::Job& job, int rank, int num_ranks, const std::string& attempt = {},
        std::function<std::int64_t()> known = {});
  bool saves() const { return writer_ != nullptr; }
  void save(std::int64_t steps_done, Executor& executor);
  void finish();  // waits for what is being written; throws its error
  // What is being written waits for no other rank any more, and never becomes complete after this.
  void abandon();
  std::vector<checkpoint::Writer::Complete> take_completed() {
    return writer_ ? writer_->take_completed() : std::vector<checkpoint::Writer::Complete>();
  }

 private:
  const job::Job* job_;
  struct Abandoned {
    std::mutex mutex;  // held while a checkpoint becomes complete
    std::atomic<bool> yes = false;
  };
  std::shared_ptr<Abandoned> abandoned_;
  std::unique_ptr<checkpoint::Writer> writer_;
};

// Fills the executor's own state from one checkpoint and returns its steps; what other ranks
// compute with is not told yet (LayerState::spread_start).
std::int64_t read_saved(const job::Job& job, const std::string& folder, Executor& executor);
// Steps that the checkpoint of job.checkpoint.resume had done; fills the executor's state.
std::int64_t resume(const job::Job& job, Executor& executor);

}  // namespace nereus::worker
