// Records which rank has which piece, and which results wait for their turn. Threads of this
// process take pieces and put results; the courier does the same for other ranks; one thread
// accepts.
//
//   while (const auto piece = ledger.take()) ledger.put(*piece, compute(*piece));     // threads
//   while (ledger.next(piece, result, 50ms) == Ledger::Next::kResult) accept(piece, result);
//
// A piece is handed out again if its rank is lost (give_back), or if it is overdue: no new piece is
// left, and another rank has had it for longer than max(patience, 8 x the longest time from
// hand-out to result of any piece). Pieces are pure functions, so the first result counts and later
// ones are dropped.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace nereus::spread {

class Ledger {
 public:
  static constexpr int kThisProcess = 0;  // rank 0 keeps the ledger
  static constexpr double kOverdueFactor = 8;

  using Clock = std::chrono::steady_clock;
  // `now` is for tests.
  Ledger(std::int64_t first, std::int64_t count, std::int64_t window, double patience_s,
         std::function<Clock::time_point()> now = Clock::now);

  // The smallest free piece; waits for one. Empty when the run is over.
  std::optional<std::int64_t> take();
  // Like take(), for another rank, without waiting.
  std::optional<std::int64_t> try_take(int rank);
  void put(std::int64_t piece, std::string&& result);
  void fail(std::int64_t piece, std::exception_ptr failure);
  std::int64_t give_back(int rank);  // frees all pieces of the rank; returns how many

  enum class Next { kResult, kNotYet, kDone };
  // Gets the next result in order, waiting at most that long; throws the failure of a piece when
  // its turn comes.
  Next next(std::int64_t& piece, std::string& result, std::chrono::milliseconds wait);

  void widen(std::int64_t window);  // increases the window; never reduces it
  void close();                     // from now on, accepts and returns nothing
  std::int64_t num_redone() const;

 private:
  struct Holder {
    int rank = kThisProcess;
    Clock::time_point since;
  };
  struct Result {
    std::string bytes;
    std::exception_ptr failure;
  };

  std::optional<std::int64_t> pick(int rank);
  std::int64_t overdue(int rank) const;
  void settle(std::int64_t piece, Result&& result);

  mutable std::mutex mutex_;
  std::condition_variable free_;   // signals that there may be a piece to take
  std::condition_variable ready_;  // signals that there may be a result to accept
  const std::int64_t end_;
  std::int64_t window_;
  const double patience_s_;
  const std::function<Clock::time_point()> now_;
  std::int64_t fresh_;   // never handed out: fresh_ .. end_ - 1
  std::int64_t accept_;  // the next piece to accept
  std::set<std::int64_t> returned_;
  std::map<std::int64_t, Holder> out_;
  std::map<std::int64_t, Result> waiting_;
  double longest_s_ = 0;
  std::int64_t num_redone_ = 0;
  // The smallest piece that failed, or end_; no piece from there on is handed out.
  std::int64_t failed_;
  bool closed_ = false;
};

}  // namespace nereus::spread
