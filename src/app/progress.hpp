// How a long task reports its progress, independently of who listens.
//
//   void fit(const ProgressSink& progress) { progress({.what = "fits", .done = 3, .total = 10}); }
#pragma once

#include <functional>
#include <string>

namespace nereus::app {

struct Progress {
  std::string what;  // what is counted: "rows", "candidates"
  double done = 0;
  double total = 0;  // 0 = unknown
  std::string best;  // the best so far, in words; may be empty
};

using ProgressSink = std::function<void(const Progress&)>;  // called from one thread at a time

}  // namespace nereus::app
