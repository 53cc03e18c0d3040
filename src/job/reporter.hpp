// A worker's end of the pipe to its launcher: messages from any thread, one line each, and a sign
// of life every second from a thread of its own, so that a rank that waits long is not taken for
// one that hangs. And what the launcher asks of it: signals.
//
//   Reporter reporter(report_fd, rank);
//   reporter.send({.kind = MessageKind::kHello, ...});
//   reporter.doing(17, "all-reduce of layer 3");   // told with the next sign of life
//   const AskedGuard guard;
//   if (asked() == Asked::kEnd) ...                // after the step, on every rank
//
// A pipe whose reader is gone is no error: the launcher's end is this process's, by the kernel.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "job/message.hpp"

namespace nereus::job {

class Reporter {
 public:
  // fd < 0: says nothing (a worker started by hand).
  Reporter(int fd, int rank, std::chrono::milliseconds beat = std::chrono::seconds(1));
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  void send(Message message);  // of this rank
  void doing(std::int64_t operation, std::string what);

 private:
  void beat_until_stopped();
  void write_line(const Message& message);

  const int fd_;
  const int rank_;
  const std::chrono::milliseconds beat_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopped_ = false;
  Message alive_{};
  std::thread thread_;
};

// What this process was asked for by SIGINT (to end after the step) or SIGTERM (to save and end);
// the latter outweighs the former. Ranks must agree on it before they act.
enum class Asked { kNothing, kEnd, kSave };

class AskedGuard {  // while it lives, the two signals do nothing else
 public:
  AskedGuard();
  ~AskedGuard();
  AskedGuard(const AskedGuard&) = delete;
  AskedGuard& operator=(const AskedGuard&) = delete;
};

Asked asked();

}  // namespace nereus::job
