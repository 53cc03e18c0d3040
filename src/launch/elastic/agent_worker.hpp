// The worker of an agent: its process, the lines it writes and the lines sent to it. No function
// blocks: a worker that is stopped reads nothing, and must not block the agent.
//
//   AgentWorker worker(path, say);
//   worker.start();
//   for (const std::string& line : worker.lines()) ...
//   worker.tell(message);  worker.write();
//   if (worker.is_gone()) say(worker.reap());
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "job/elastic.hpp"
#include "launch/child.hpp"

namespace nereus::launch {

class AgentWorker {
 public:
  using Say = std::function<void(const std::string& line)>;
  AgentWorker(std::string program, const Say& say) : program_(std::move(program)), say_(say) {}
  ~AgentWorker() { end(); }
  AgentWorker(const AgentWorker&) = delete;
  AgentWorker& operator=(const AgentWorker&) = delete;

  void start();
  void end();          // kills it
  std::string reap();  // for a worker that ended by itself: returns how
  bool is_gone() const { return gone_; }

  // Complete lines that have arrived; passes other output to `say`.
  std::vector<std::string> lines();
  void tell(const job::ElasticMessage& message) { for_worker_ += to_line(message) + "\n"; }
  void write();

  double silent_s() const;  // seconds since its last line
  std::vector<int> fds() const { return {child_.report_fd, child_.text_fd}; }

 private:
  void close_pipes();

  std::string program_;
  const Say& say_;
  Child child_;
  bool gone_ = false;
  std::chrono::steady_clock::time_point heard_{};
  std::string in_, for_worker_;
};

}  // namespace nereus::launch
