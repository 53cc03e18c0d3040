#include "launch/signals.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>

#include "base/error.hpp"
#include "launch/child.hpp"

namespace nereus::launch {

namespace {

std::atomic<int> write_end = -1;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may touch nothing else");

extern "C" void pass_on(int signal) {
  const int before = errno;
  const char letter = signal == SIGINT    ? 'i'
                      : signal == SIGTERM ? 't'
                      : signal == SIGUSR1 ? 'n'
                                          : 'c';
  // A full pipe has been written to often enough.
  if (write(write_end, &letter, 1) < 0) errno = before;
  errno = before;
}

}  // namespace

SignalPipe::SignalPipe() {
  int ends[2];
  NEREUS_CHECK(write_end < 0, "one SignalPipe at a time");
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    throw_environment_error("launch.process", "no pipe to be had");
  read_ = ends[0];
  write_end = ends[1];
  struct sigaction action {};
  action.sa_handler = pass_on;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &old_interrupt_);
  sigaction(SIGTERM, &action, &old_terminate_);
  sigaction(SIGCHLD, &action, &old_child_);
  sigaction(SIGUSR1, &action, &old_notice_);
}

SignalPipe::~SignalPipe() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
  sigaction(SIGCHLD, &old_child_, nullptr);
  sigaction(SIGUSR1, &old_notice_, nullptr);
  close(write_end.exchange(-1));
  close(read_);
}

SignalPipe::Counts SignalPipe::take() const {
  std::string letters;
  read_available(read_, letters);
  Counts counts;
  for (const char letter : letters) {
    counts.interrupts += letter == 'i';
    counts.terminations += letter == 't';
    counts.notices += letter == 'n';
  }
  return counts;
}

}  // namespace nereus::launch
