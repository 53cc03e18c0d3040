// The peak memory of this process.
#pragma once

#include <sys/resource.h>

namespace nereus::worker {

inline double peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

}  // namespace nereus::worker
