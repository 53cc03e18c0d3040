// The running ranks of a job, for whoever signals them beside their supervisor
// (launch/supervise.hpp): from any thread, and never a number that somebody else has by now.
//
//   RankControl control;
//   watch.control = &control;      // run_ranks adds ranks, and removes them before they are reaped
//   control.signal(SIGSTOP);
#pragma once

#include <sys/types.h>

#include <functional>
#include <mutex>
#include <vector>

namespace nereus::launch {

class RankControl {
 public:
  void add(pid_t pid);
  void remove(pid_t pid);
  // To the process groups of all that run; false where none does.
  bool signal(int number) const;
  std::vector<pid_t> running() const;
  std::function<void(pid_t)> added{};  // called with each rank that was started

 private:
  mutable std::mutex mutex_;
  std::vector<pid_t> pids_;
};

}  // namespace nereus::launch
