// Lets Ctrl-C end long work with the result so far. The first Ctrl-C sets a flag that the work
// polls; the second ends the program as usual. SIGTERM (from kill, an interrupted mpirun, or a
// batch system at the end of the time) and SIGUSR1 (which mpirun forwards to its ranks) do the
// same.
//
//   const InterruptGuard guard;                 // during its lifetime
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
