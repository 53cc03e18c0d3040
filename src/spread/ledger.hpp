// Which piece is with whom, and which results wait for their turn. Threads of this process take
// pieces and put results; the courier does the same for other ranks; one thread accepts.
//
//   while (const auto piece = ledger.take()) ledger.put(*piece, compute(*piece));     // threads
//   while (ledger.next(piece, result, 50ms) == Ledger::Next::kResult) accept(piece, result);
//
// A piece goes out again when its rank is lost (give_back), or when it is overdue: nothing fresh is
// left to take, and another rank has had it for longer than max(patience, 8 x the longest time that
// any piece took from being handed out to its result). Pieces are pure, so the first result
// counts and later ones are dropped.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
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

  Ledger(std::int64_t first, std::int64_t count, std::int64_t window, double patience_s);

  // The smallest piece that is free; waits for one. Nothing when the run is over.
  std::optional<std::int64_t> take();
  // The same for another rank, without waiting.
  std::optional<std::int64_t> try_take(int rank);
  void put(std::int64_t piece, std::string&& result);
  void fail(std::int64_t piece, std::exception_ptr failure);
  std::int64_t give_back(int rank);  // all that it has, to others; how many

  enum class Next { kResult, kNotYet, kDone };
  // The next result in order, waiting at most so long; throws the failure of a piece in its turn.
  Next next(std::int64_t& piece, std::string& result, std::chrono::milliseconds wait);

  void widen(std::int64_t window);  // never narrower
  void close();                     // takes nothing and gives nothing from now on
  std::int64_t num_redone() const;

 private:
  using Clock = std::chrono::steady_clock;
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
  std::condition_variable free_;   // there may be something to take
  std::condition_variable ready_;  // there may be something to accept
  const std::int64_t end_;
  std::int64_t window_;
  const double patience_s_;
  std::int64_t fresh_;   // handed out by nobody yet: fresh_ .. end_ - 1
  std::int64_t accept_;  // the next to accept
  std::set<std::int64_t> returned_;
  std::map<std::int64_t, Holder> out_;
  std::map<std::int64_t, Result> waiting_;
  double longest_s_ = 0;
  std::int64_t num_redone_ = 0;
  std::int64_t failed_;  // the smallest piece that failed, or end_; none from there on goes out
  bool closed_ = false;
};

}  // namespace nereus::spread
