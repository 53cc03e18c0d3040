// Ctrl-C that ends long work with what it has so far. The first one is remembered and asked for by
// the work; the second ends the program as usual. SIGTERM (kill, mpirun that is interrupted, a
// batch system at the end of the time) and SIGUSR1 (which mpirun hands on to its ranks) do the
// same.
//
//   const InterruptGuard guard;                 // while it lives
//   while (!interrupted() && ...) ...
#pragma once

namespace nereus {

class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

bool interrupted();

}  // namespace nereus
