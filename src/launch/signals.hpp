// Signals as a file descriptor: during this object's lifetime, SIGINT, SIGTERM, SIGUSR1 and SIGCHLD
// make fd() readable instead of ending the program. The handlers write to a pipe. signalfd is not
// used, because it needs the signals blocked in every thread, and other libraries may have started
// threads already.
//
//   const SignalPipe signals;
//   poll(signals.fd());
//   SignalPipe::Counts counts = signals.take();      // since the last call
#pragma once

#include <csignal>

namespace nereus::launch {

class SignalPipe {
 public:
  struct Counts {
    int interrupts = 0;    // SIGINT
    int terminations = 0;  // SIGTERM
    int notices = 0;       // SIGUSR1
  };

  SignalPipe();
  ~SignalPipe();
  SignalPipe(const SignalPipe&) = delete;
  SignalPipe& operator=(const SignalPipe&) = delete;

  int fd() const { return read_; }
  Counts take() const;

 private:
  int read_ = -1;
  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
  struct sigaction old_child_ {};
  struct sigaction old_notice_ {};
};

}  // namespace nereus::launch
