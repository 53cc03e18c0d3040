#include <sched.h>

#include <algorithm>
#include <limits>

#include "spread/crew.hpp"
#include "spread/work.hpp"

namespace nereus::spread {

namespace {
constexpr std::chrono::milliseconds kAskStopEvery{50};
}

int num_usable_cores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) return std::max(1, CPU_COUNT(&cores));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::int64_t window_of(const Options& options, int num_threads_everywhere) {
  return options.window > 0 ? options.window : 64 + 8 * std::int64_t{num_threads_everywhere};
}

Crew::Crew(const Work& work, Ledger& ledger, int num_threads) : ledger_(ledger) {
  try {
    for (int i = 0; i < num_threads; ++i) {
      threads_.emplace_back([&work, &ledger] {
        while (const auto piece = ledger.take()) {
          try {
            ledger.put(*piece, work.compute(*piece));
          } catch (...) {
            ledger.fail(*piece, std::current_exception());
          }
        }
      });
    }
  } catch (...) {
    ledger_.close();
    throw;
  }
}

Crew::~Crew() { ledger_.close(); }

Outcome accept_all(const Work& work, Ledger& ledger, const std::function<void()>& look) {
  Outcome outcome;
  std::int64_t piece = 0;
  std::string result;
  while (true) {
    if (look) look();
    if (work.stop && work.stop()) {
      outcome.ending = Ending::kStopped;
      break;
    }
    const Ledger::Next next = ledger.next(piece, result, kAskStopEvery);
    if (next == Ledger::Next::kDone) break;
    if (next == Ledger::Next::kNotYet) continue;
    work.accept(piece, std::move(result));
    ++outcome.accepted;
  }
  if (outcome.accepted == work.count) outcome.ending = Ending::kComplete;
  outcome.redone = ledger.num_redone();
  return outcome;
}

Outcome run(const Work& work, const Options& options) {
  const int asked = options.threads > 0 ? options.threads : num_usable_cores();
  const int num_threads = static_cast<int>(std::clamp<std::int64_t>(work.count, 1, asked));
  Ledger ledger(work.first, work.count, window_of(options, num_threads),
                std::numeric_limits<double>::infinity());
  const Crew crew(work, ledger, num_threads);
  return accept_all(work, ledger, {});
}

}  // namespace nereus::spread
