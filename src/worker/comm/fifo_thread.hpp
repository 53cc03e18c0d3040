// One thread that runs tasks in order. It starts with the first task; the destructor joins it after
// all tasks have run.
//
//   FifoThread thread;
//   thread.start([] { ... });   // must not throw
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace nereus::worker {

class FifoThread {
 public:
  FifoThread() = default;
  ~FifoThread();
  FifoThread(const FifoThread&) = delete;
  FifoThread& operator=(const FifoThread&) = delete;

  void start(std::function<void()> task);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace nereus::worker
