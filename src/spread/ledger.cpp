#include "spread/ledger.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace nereus::spread {

namespace {
constexpr std::chrono::milliseconds kLookForOverdue{100};
}

Ledger::Ledger(std::int64_t first, std::int64_t count, std::int64_t window, double patience_s,
               std::function<Clock::time_point()> now)
    : end_(first + count),
      window_(window),
      patience_s_(patience_s),
      now_(std::move(now)),
      fresh_(first),
      accept_(first),
      failed_(first + count) {
  NEREUS_CHECK(count >= 0 && window >= 1, "a run has pieces and a window");
}

std::optional<std::int64_t> Ledger::take() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (closed_ || accept_ == end_) return std::nullopt;
    if (const auto piece = pick(kThisProcess)) return piece;
    // A piece becomes overdue only by time, so there is no notification.
    free_.wait_for(lock, kLookForOverdue);
  }
}

std::optional<std::int64_t> Ledger::try_take(int rank) {
  const std::lock_guard lock(mutex_);
  if (closed_) return std::nullopt;
  return pick(rank);
}

std::optional<std::int64_t> Ledger::pick(int rank) {
  std::int64_t piece = end_;
  if (!returned_.empty() && *returned_.begin() < failed_) {
    piece = *returned_.begin();
    returned_.erase(returned_.begin());
    ++num_redone_;
  } else if (fresh_ < failed_ && fresh_ < accept_ + window_) {
    piece = fresh_++;
  } else if (piece = overdue(rank); piece < end_) {
    ++num_redone_;
  }
  if (piece == end_) return std::nullopt;
  out_[piece] = {rank, now_()};
  return piece;
}

// A piece of this process is never overdue: its thread would have to end first anyway.
std::int64_t Ledger::overdue(int rank) const {
  const std::chrono::duration<double> limit(std::max(patience_s_, kOverdueFactor * longest_s_));
  const Clock::time_point now = now_();
  for (const auto& [piece, holder] : out_) {
    if (piece >= failed_) break;
    if (holder.rank != kThisProcess && holder.rank != rank && now - holder.since > limit) {
      return piece;
    }
  }
  return end_;
}

void Ledger::put(std::int64_t piece, std::string&& result) {
  settle(piece, {std::move(result), nullptr});
}

void Ledger::fail(std::int64_t piece, std::exception_ptr failure) {
  settle(piece, {{}, std::move(failure)});
}

void Ledger::settle(std::int64_t piece, Result&& result) {
  const std::lock_guard lock(mutex_);
  if (closed_ || piece < accept_ || waiting_.contains(piece)) return;  // somebody was faster
  NEREUS_CHECK(piece < fresh_, "a result of a piece that was handed out");
  if (const auto held = out_.find(piece); held != out_.end()) {
    const std::chrono::duration<double> took = now_() - held->second.since;
    longest_s_ = std::max(longest_s_, took.count());
    out_.erase(held);
  }
  returned_.erase(piece);  // the lost rank was only slow
  if (result.failure) failed_ = std::min(failed_, piece);
  waiting_.emplace(piece, std::move(result));
  if (piece == accept_) ready_.notify_one();
}

std::int64_t Ledger::give_back(int rank) {
  const std::lock_guard lock(mutex_);
  const std::size_t before = returned_.size();
  for (auto held = out_.begin(); held != out_.end();) {
    if (held->second.rank == rank) {
      returned_.insert(held->first);
      held = out_.erase(held);
    } else {
      ++held;
    }
  }
  free_.notify_all();
  return static_cast<std::int64_t>(returned_.size() - before);
}

Ledger::Next Ledger::next(std::int64_t& piece, std::string& result,
                          std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  if (accept_ == end_) return Next::kDone;
  const auto ready = [&] { return !waiting_.empty() && waiting_.begin()->first == accept_; };
  if (!ready_.wait_for(lock, wait, ready)) return Next::kNotYet;
  auto node = waiting_.extract(waiting_.begin());
  if (node.mapped().failure) std::rethrow_exception(node.mapped().failure);
  piece = accept_++;
  result = std::move(node.mapped().bytes);
  if (accept_ == end_) {
    free_.notify_all();
  } else {
    free_.notify_one();
  }
  return Next::kResult;
}

void Ledger::widen(std::int64_t window) {
  const std::lock_guard lock(mutex_);
  window_ = std::max(window_, window);
  free_.notify_all();
}

void Ledger::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  free_.notify_all();
  ready_.notify_all();
}

std::int64_t Ledger::num_redone() const {
  const std::lock_guard lock(mutex_);
  return num_redone_;
}

}  // namespace nereus::spread
