#include "base/parallel.hpp"

#if defined(__SANITIZE_THREAD__)
#define NEREUS_PLAIN_THREADS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NEREUS_PLAIN_THREADS 1
#endif
#endif

#ifdef NEREUS_PLAIN_THREADS
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>
#else
#include <tbb/parallel_for.h>
#endif

namespace nereus {

#ifdef NEREUS_PLAIN_THREADS

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  constexpr int kNumThreads = 4;  // more than one, whatever the machine
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::thread> threads;
  for (int t = 0; t < kNumThreads; ++t) {
    threads.emplace_back([&] {
      try {
        for (std::size_t i = next++; i < count; i = next++) body(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
        next = count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

#else

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  tbb::parallel_for(std::size_t{0}, count, body);
}

#endif

}  // namespace nereus
