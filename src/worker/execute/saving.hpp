// Saves a rank's state to checkpoints (checkpoint/), and reads it back on any other plan. The first
// rank that keeps an element saves it.
//
//   Saver saver(job, comm);
//   std::int64_t first = resume(job, executor);      // 0 if there is nothing to resume
//   saver.save(step + 1, executor);                  // returns when the state is copied
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
  // `attempt` and `known` are those of checkpoint::WriterOptions.
  Saver(const job::Job& job, int rank, int num_ranks, const std::string& attempt = {},
        std::function<std::int64_t()> known = {});
  bool saves() const { return writer_ != nullptr; }
  void save(std::int64_t steps_done, Executor& executor);
  void finish();  // waits for the current save; throws its error
  // The current save no longer waits for other ranks, and never becomes complete.
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

// Fills the state of the executor's rank from one checkpoint, and returns its number of steps. The
// weights are not yet sent to the ranks that compute with them (LayerState::spread_start).
std::int64_t read_saved(const job::Job& job, const std::string& folder, Executor& executor);
// Returns the number of steps of the checkpoint job.checkpoint.resume; fills the executor's state.
std::int64_t resume(const job::Job& job, Executor& executor);

}  // namespace nereus::worker
