#include "worker/comm/watchdog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "worker/comm/message_comm.hpp"

namespace nereus::worker {

using std::chrono::milliseconds;

// The Liveness::Wait lets other ranks learn for whom this rank waits, and lets this one ask who is
// alive shortly before the time-out.
struct Watchdog::Stuck {
  Stuck(Liveness& liveness, const Watched* front, int waits_for, Clock::time_point now)
      : of(front), since(now), peer(waits_for), wait(liveness, peer) {}
  const Watched* of;
  Clock::time_point since;
  const std::atomic<int> peer;
  Liveness::Wait wait;
};

Watchdog::Watchdog(Liveness& liveness, milliseconds timeout, Hooks hooks)
    : liveness_(liveness),
      timeout_(timeout),
      period_(std::clamp(timeout / 50, milliseconds(1), milliseconds(20))),
      hooks_(std::move(hooks)),
      thread_([this] { run(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::add(const void* stream, std::shared_ptr<Watched> wait) {
  const std::lock_guard lock(mutex_);
  waits_[stream].queue.push_back(std::move(wait));
}

void Watchdog::begin(const void* stream, std::shared_ptr<Watched> operation) {
  const std::lock_guard lock(mutex_);
  begun_[stream].push_back(std::move(operation));
}

// An operation that was started and is not done.
const Watched* Watchdog::running() {
  const Watched* found = nullptr;
  for (auto& [stream, operations] : begun_) {
    while (!operations.empty() && operations.front()->is_done()) operations.pop_front();
    if (!operations.empty()) found = operations.front().get();
  }
  return found;
}

void Watchdog::settle() {
  const std::lock_guard lock(mutex_);
  settle_locked();
}

void Watchdog::settle_locked() {
  for (auto& [stream, waits] : waits_)
    while (!waits.queue.empty() && waits.queue.front()->is_done() &&
           waits.queue.front()->is_reached()) {
      waits.stuck.reset();
      waits.queue.front()->settle();
      waits.queue.pop_front();
    }
}

void Watchdog::check() const {
  if (!failed_) return;
  const std::lock_guard lock(mutex_);
  throw *error_;
}

std::optional<Watchdog::Problem> Watchdog::look(Clock::time_point now) {
  settle_locked();
  const Watched* front = running();
  for (auto& [stream, waits] : waits_) {
    if (waits.queue.empty()) continue;
    Watched& first = *waits.queue.front();
    if (first.is_done() || !first.is_reached()) continue;
    front = &first;
    if (!waits.stuck || waits.stuck->of != &first)
      waits.stuck = std::make_unique<Stuck>(liveness_, &first, first.failure().peer, now);
    if (now - waits.stuck->since > timeout_)
      return Problem{first.what(), first.failure(),
                     fmt::format("nothing for {} ms", timeout_.count())};
  }
  if (!front) return std::nullopt;
  if (liveness_.knows_missing()) return Problem{front->what(), front->failure(), "given up"};
  if (const std::string broken = hooks_.broken ? hooks_.broken() : std::string(); !broken.empty())
    return Problem{front->what(), front->failure(), broken};
  return std::nullopt;
}

void Watchdog::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    changed_.wait_for(lock, period_, [&] { return ending_; });
    if (ending_ || failing_) continue;
    const std::optional<Problem> problem = look(Clock::now());
    if (!problem) continue;
    lock.unlock();
    fail(problem->what, problem->failure, problem->cause);
    lock.lock();
  }
}

void Watchdog::fail(const std::string& what, const Liveness::Failure& failure,
                    const std::string& cause) {
  {
    std::unique_lock lock(mutex_);
    if (failing_) return changed_.wait(lock, [&] { return error_.has_value(); });
    failing_ = true;
  }
  end_with(explain(liveness_, what, failure, cause));
}

void Watchdog::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (failing_) return;
    failing_ = true;
  }
  end_with({fmt::format("rank {}: told to end", liveness_.rank()), -1});
}

void Watchdog::end_with(CommError error) {
  {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    failed_ = true;
    for (auto& [stream, waits] : waits_) waits.stuck.reset();
  }
  changed_.notify_all();
  if (hooks_.abort) hooks_.abort();
}

}  // namespace nereus::worker
