// Loops over all cores. Each index is processed once, in any order. Results must be written to a
// separate place per index, so that they are the same for any number of threads.
//
//   std::vector<double> costs(plans.size());
//   parallel_for(plans.size(), [&](std::size_t i) { costs[i] = cost(plans[i]); });
//
// Loops may be nested. An exception of the body is rethrown here after all threads have ended. Uses
// oneTBB if it is installed (NEREUS_TBB). Otherwise, and under ThreadSanitizer, uses our threads:
// as many as there are cores for the outer loop, one for an inner loop. The results are the same.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace nereus {

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body);

// During its lifetime, loops use at most that many threads.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  struct Control;
  std::unique_ptr<Control> control_;
};

}  // namespace nereus
