// A worker's end of the pipe to its launcher: sends messages from any thread, one line each, and a
// heartbeat every second from a separate thread, so that a rank in a long wait is not mistaken for
// one that hangs. Also receives the launcher's requests: signals.
//
//   Reporter reporter(report_fd, rank);
//   reporter.send({.kind = MessageKind::kHello, ...});
//   reporter.doing(17, "all-reduce of layer 3");   // sent with the next heartbeat
//   const AskedGuard guard;
//   if (asked() == Asked::kEnd) ...                // after the step, on every rank
//
// A pipe without a reader is not an error: if the launcher ends, the kernel ends this process.
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
  // fd < 0: sends nothing (a worker that was started by hand).
  Reporter(int fd, int rank, std::chrono::milliseconds beat = std::chrono::seconds(1));
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  void send(Message message);  // sets its rank to this rank
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

// What a signal to this process requests: SIGINT, to end after the step; SIGTERM, to save and end.
// SIGTERM has priority. Ranks must agree on a request before they act on it.
enum class Asked { kNothing, kEnd, kSave };

class AskedGuard {  // during its lifetime, the two signals have no other effect
 public:
  AskedGuard();
  ~AskedGuard();
  AskedGuard(const AskedGuard&) = delete;
  AskedGuard& operator=(const AskedGuard&) = delete;
};

Asked asked();

}  // namespace nereus::job
