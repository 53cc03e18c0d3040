// Signals the running ranks of a job from outside their supervisor (launch/supervise.hpp): from any
// thread, and never a process number that was reused.
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
  // Signals the process groups of all running ranks; returns false if there are none.
  bool signal(int number) const;
  std::vector<pid_t> running() const;
  std::function<void(pid_t)> added{};  // called with each rank that is started

 private:
  mutable std::mutex mutex_;
  std::vector<pid_t> pids_;
};

}  // namespace nereus::launch
