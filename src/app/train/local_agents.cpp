#include "app/train/local_agents.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nereus::app {

LocalAgents::~LocalAgents() {
  ending_ = true;
  if (thread_.joinable()) thread_.join();
  // Two seconds for all of them together, however many there are.
  int patience = 100;
  for (const Agent& agent : agents_) {
    close(agent.child.text_fd);
    if (agent.child.pid < 0) continue;
    int ended = 0;
    while ((ended = waitpid(agent.child.pid, nullptr, WNOHANG)) == 0 && patience-- > 0)
      usleep(20'000);
    if (ended != 0) continue;
    kill(-agent.child.pid, SIGKILL);
    waitpid(agent.child.pid, nullptr, 0);
  }
}

void LocalAgents::start(const TrainRequest& request, const ElasticRequest& elastic,
                        const launch::Address& coordinator) {
  const std::string host = coordinator.host == "0.0.0.0" ? "127.0.0.1" : coordinator.host;
  const std::string address = fmt::format("{}:{}", host, coordinator.port);
  how_to_start_ = fmt::format("nereus agent --join {} --token {}/token", address, elastic.folder);
  for (int i = 0; i < elastic.agents; ++i)
    agents_.push_back({launch::start_child(
        {.arguments = {elastic.program, "agent", "--join", address, "--token",
                       elastic.folder + "/token", "--name", fmt::format("local-{}", i), "--worker",
                       request.worker}})});
  thread_ = std::thread([this] { read(); });
}

void LocalAgents::read() {
  while (!ending_) {
    std::vector<pollfd> list;
    for (const Agent& agent : agents_)
      list.push_back({agent.child.pid >= 0 ? agent.child.text_fd : -1, POLLIN, 0});
    poll(list.data(), list.size(), 100);
    for (std::size_t i = 0; i < agents_.size(); ++i) {
      Agent& agent = agents_[i];
      if (agent.child.pid < 0) continue;
      const bool open = launch::read_available(agent.child.text_fd, agent.text);
      for (std::size_t end; (end = agent.text.find('\n')) != std::string::npos;
           agent.text.erase(0, end + 1))
        say_(fmt::format("local-{}: {}", i, agent.text.substr(0, end)));
      if (!open) tell_end(i);
    }
  }
}

void LocalAgents::tell_end(std::size_t i) {
  int status = 0;
  if (waitpid(agents_[i].child.pid, &status, WNOHANG) == 0) return;  // soon
  agents_[i].child.pid = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;  // it said why
  say_(fmt::format("local-{} ended ({} {}) and is not started again: {}", i,
                   WIFSIGNALED(status) ? "signal" : "exit code",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), how_to_start_));
}

}  // namespace nereus::app
