#include "launch/rank_control.hpp"

#include <signal.h>

namespace nereus::launch {

void RankControl::add(pid_t pid) {
  if (added) added(pid);
  const std::lock_guard lock(mutex_);
  pids_.push_back(pid);
}

void RankControl::remove(pid_t pid) {
  const std::lock_guard lock(mutex_);
  std::erase(pids_, pid);
}

bool RankControl::signal(int number) const {
  const std::lock_guard lock(mutex_);
  for (const pid_t pid : pids_) kill(-pid, number);
  return !pids_.empty();
}

std::vector<pid_t> RankControl::running() const {
  const std::lock_guard lock(mutex_);
  return pids_;
}

}  // namespace nereus::launch
