// How much of this machine other processes use while something is measured: what all use
// (/proc/stat) less what this one and the children that it has waited for do.
//
//   const OthersAtWork others;
//   ..                              // measure
//   others.share();                 // of all cores since then
#pragma once

#include <chrono>

namespace nereus::app {

class OthersAtWork {
 public:
  OthersAtWork();
  double share() const;

 private:
  double all_, ours_;  // CPU seconds when it began
  std::chrono::steady_clock::time_point start_;
};

}  // namespace nereus::app
