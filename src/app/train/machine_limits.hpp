// Limits the processes and threads of a job on one machine. More of them would not train, but only
// fill the memory or overload the scheduler, so larger numbers are rejected before any process
// starts.
//
//   processes   memory / 100 MiB: a worker that has not begun uses 60 MiB (measured, libtorch 1.13
//               on CPUs), a worker that trains uses more
//   threads     32 per core, for one rank: more threads only wait for each other
//
//   check_processes("--agents", 4, errors);      // adds train.too-many-processes
#pragma once

#include <string>

#include "base/error.hpp"

namespace nereus::app {

int most_processes(double memory_bytes);
int most_threads(int cores);

void check_processes(const std::string& what, int count, ErrorList& errors);
void check_threads(const std::string& option, int count, ErrorList& errors);

}  // namespace nereus::app
