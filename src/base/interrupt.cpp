#include "base/interrupt.hpp"

#include <atomic>
#include <csignal>

namespace nereus {

namespace {

std::atomic<bool> asked = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch nothing else");

extern "C" void remember(int) {
  asked = true;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  asked = false;
  std::signal(SIGINT, remember);
}

InterruptGuard::~InterruptGuard() { std::signal(SIGINT, SIG_DFL); }

bool interrupted() { return asked; }

}  // namespace nereus
