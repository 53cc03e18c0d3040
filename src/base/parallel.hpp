// Loops over all cores. Each index is handed out once, in no order; the results belong in a place
// of their own per index, so that they are the same at any number of threads.
//
//   std::vector<double> costs(plans.size());
//   parallel_for(plans.size(), [&](std::size_t i) { costs[i] = cost(plans[i]); });
//
// Loops may nest. An exception of the body comes out here, after all threads are done. oneTBB does
// the work where it is there (NEREUS_TBB); else, and under ThreadSanitizer, threads of our own do:
// as many as there are cores for the outer loop, one for a loop inside it. The results are the
// same.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace nereus {

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body);

// While it lives, loops use at most so many threads.
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
