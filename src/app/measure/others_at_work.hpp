// How much of this machine other processes use during a measurement: the CPU time of all processes
// (/proc/stat) minus that of this process and the children it has waited for.
//
//   const OthersAtWork others;
//   ..                              // measure
//   others.share();                 // of all cores, since the constructor
#pragma once

#include <chrono>

namespace nereus::app {

class OthersAtWork {
 public:
  OthersAtWork();
  double share() const;

 private:
  double all_, ours_;  // CPU seconds at the start
  std::chrono::steady_clock::time_point start_;
};

}  // namespace nereus::app
