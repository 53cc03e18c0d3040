// Ctrl-C that ends long work with what it has so far. The first one is remembered and asked for by
// the work; the second ends the program as usual.
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
