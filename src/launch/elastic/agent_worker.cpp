#include "launch/elastic/agent_worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace nereus::launch {

void AgentWorker::start() {
  child_ = start_child({.arguments = {program_, "--elastic"},
                        .report_option = "--report-fd",
                        .command_option = "--command-fd"});
  heard_ = std::chrono::steady_clock::now();
  gone_ = false;
  in_.clear();
  for_worker_.clear();
  fcntl(child_.command_fd, F_SETFL, O_NONBLOCK);
}

void AgentWorker::close_pipes() {
  for (const int fd : {child_.report_fd, child_.text_fd, child_.command_fd})
    if (fd >= 0) close(fd);
  child_ = {};
}

void AgentWorker::end() {
  if (child_.pid < 0) return;
  kill(-child_.pid, SIGKILL);
  kill(child_.pid, SIGKILL);
  while (waitpid(child_.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  close_pipes();
}

std::string AgentWorker::reap() {
  int status = 0;
  kill(-child_.pid, SIGKILL);
  while (waitpid(child_.pid, &status, 0) < 0 && errno == EINTR) {
  }
  close_pipes();
  return WIFSIGNALED(status) ? fmt::format("killed by signal {}", WTERMSIG(status))
                             : fmt::format("exit code {}", WEXITSTATUS(status));
}

std::vector<std::string> AgentWorker::lines() {
  std::string text;
  read_available(child_.text_fd, text);
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    say_("worker: " + text.substr(at, end - at));
  gone_ = !read_available(child_.report_fd, in_);
  std::vector<std::string> out;
  std::size_t at = 0;
  for (std::size_t end; (end = in_.find('\n', at)) != std::string::npos; at = end + 1)
    out.push_back(in_.substr(at, end - at));
  in_.erase(0, at);
  if (!out.empty()) heard_ = std::chrono::steady_clock::now();
  return out;
}

void AgentWorker::write() {
  while (!for_worker_.empty() && child_.command_fd >= 0) {
    const ssize_t count = ::write(child_.command_fd, for_worker_.data(), for_worker_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // full; or it is gone, which lines() will see
    for_worker_.erase(0, static_cast<std::size_t>(count));
  }
}

double AgentWorker::silent_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - heard_).count();
}

}  // namespace nereus::launch
