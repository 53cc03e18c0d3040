#include "base/parallel.hpp"

#if defined(__SANITIZE_THREAD__)
#define NEREUS_SEES_RACES 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NEREUS_SEES_RACES 1
#endif
#endif

// Debian's oneTBB is not instrumented: it would hide, or seem to cause, every race.
#if defined(NEREUS_TBB) && !defined(NEREUS_SEES_RACES)
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#else
#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>
#endif

namespace nereus {

#if defined(NEREUS_TBB) && !defined(NEREUS_SEES_RACES)

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  tbb::parallel_for(std::size_t{0}, count, body);
}

struct ThreadLimit::Control {
  tbb::global_control limit;
};

ThreadLimit::ThreadLimit(int threads)
    : control_(new Control{
          {tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads)}}) {}

#else

namespace {

std::atomic<int> limited_to = 0;      // 0: as many threads as there are cores
thread_local bool is_inside = false;  // an inner loop runs only on its thread

int num_threads() {
  if (limited_to > 0) return limited_to;
#ifdef NEREUS_SEES_RACES
  return 4;  // more than one, whatever the machine
#else
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
#endif
}

// The indices of one loop, handed out on request.
class Loop {
 public:
  Loop(std::size_t count, const std::function<void(std::size_t)>& body)
      : count_(count), body_(body) {}

  void work() {
    const bool was_inside = is_inside;
    is_inside = true;
    try {
      for (std::size_t i = next_++; i < count_; i = next_++) body_(i);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      next_ = count_;
    }
    is_inside = was_inside;
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::size_t count_;
  const std::function<void(std::size_t)>& body_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  Loop loop(count, body);
  std::vector<std::thread> helpers;
  const std::size_t others =
      is_inside ? 0 : std::min(count, static_cast<std::size_t>(num_threads())) - (count > 0);
  helpers.reserve(others);
  for (std::size_t t = 0; t < others; ++t) helpers.emplace_back([&loop] { loop.work(); });
  loop.work();
  for (std::thread& helper : helpers) helper.join();
  loop.rethrow();
}

struct ThreadLimit::Control {
  int before;
};

ThreadLimit::ThreadLimit(int threads) : control_(new Control{limited_to.exchange(threads)}) {}

#endif

ThreadLimit::~ThreadLimit() {
#if !defined(NEREUS_TBB) || defined(NEREUS_SEES_RACES)
  limited_to = control_->before;
#endif
}

}  // namespace nereus
