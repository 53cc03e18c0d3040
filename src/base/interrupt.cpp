#include "base/interrupt.hpp"

#include <atomic>
#include <csignal>

namespace nereus {

namespace {

std::atomic<bool> asked = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch nothing else");

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGUSR1};

void restore() {
  for (const int signal : kSignals) std::signal(signal, SIG_DFL);
}

extern "C" void remember(int) {
  asked = true;
  restore();
}

}  // namespace

InterruptGuard::InterruptGuard() {
  asked = false;
  for (const int signal : kSignals) std::signal(signal, remember);
}

InterruptGuard::~InterruptGuard() { restore(); }

bool interrupted() { return asked; }

}  // namespace nereus
