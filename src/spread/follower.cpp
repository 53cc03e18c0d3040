#include "spread/follower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.hpp"
#include "base/joining_thread.hpp"

namespace nereus::spread {

namespace {
constexpr double kHidden = 0.02;  // s of work in reserve
constexpr double kWeightOfLatest = 0.1;
constexpr std::size_t kBytesOfMessage = 1 << 20;  // results are sent together up to about this
}  // namespace

Follower::Follower(std::unique_ptr<Link> link, Settings settings)
    : link_(std::move(link)),
      settings_(std::move(settings)),
      courier_(
          *link_, {0}, settings_.alive_every_s(),
          [this](int, const std::string& bytes) { on_message(bytes); }, [this] { on_tick(); }) {
  courier_.send(0, Writer(Kind::kHello)
                       .text(settings_.build)
                       .text(link_->host())
                       .number(link_->threads())
                       .take());
  courier_.start();
}

// Until ready(), or throws: rank 0 has finished, or is gone.
template <typename Ready>
void Follower::wait_for(std::unique_lock<std::mutex>& lock, const Ready& ready) {
  while (!ready()) {
    if (dismissed_) throw Dismissed{};
    if (leader_lost_) {
      throw_environment_error("spread.rank-0-lost",
                              fmt::format("rank {} on {} has heard nothing of rank 0 for {:g} s",
                                          rank(), link_->host(), leader_lost_after_s()));
    }
    changed_.wait_for(lock, std::chrono::milliseconds(200));
    courier_.rethrow_failure();
  }
}

std::string Follower::share(std::string) {
  std::unique_lock lock(mutex_);
  wait_for(lock, [&] { return !shared_.empty(); });
  std::string bytes = std::move(shared_.front());
  shared_.pop_front();
  return bytes;
}

Outcome Follower::run(const Work& work, const Options& options) {
  std::unique_lock lock(mutex_);
  ++run_;
  running_ = true;
  num_threads_ = options.threads > 0 ? options.threads : link_->threads();
  pieces_.clear();
  results_.clear();
  in_hand_ = 0;
  courier_.send(0, Writer(Kind::kReady)
                       .number(run_)
                       .number(work.first)
                       .number(work.count)
                       .text(work.name)
                       .number(new_credit())
                       .take());
  struct Leave {
    Follower& self;
    std::unique_lock<std::mutex>& lock;
    std::vector<JoiningThread> threads = {};
    ~Leave() {
      self.running_ = false;
      self.changed_.notify_all();
      lock.unlock();
      threads.clear();  // joins
      lock.lock();
    }
  } crew{*this, lock};
  for (int i = 0; i < num_threads_; ++i) {
    crew.threads.emplace_back([this, &work] { compute_pieces(work); });
  }
  wait_for(lock, [&] { return ends_.contains(run_); });
  return ends_.extract(run_).mapped();
}

void Follower::compute_pieces(const Work& work) {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return !running_ || !pieces_.empty(); });
    if (!running_) return;
    const std::int64_t piece = pieces_.front();
    pieces_.pop_front();
    lock.unlock();
    const auto begin = std::chrono::steady_clock::now();
    Result result = compute(work, piece);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    lock.lock();
    mean_s_ = mean_s_ > 0 ? mean_s_ + kWeightOfLatest * (took.count() - mean_s_) : took.count();
    if (!running_) return;
    --in_hand_;
    results_.push_back(std::move(result));
    courier_.wake();
  }
}

Follower::Result Follower::compute(const Work& work, std::int64_t piece) const {
  try {
    return {piece, false, work.compute(piece)};
  } catch (...) {
    const std::string place = fmt::format("rank {} on {}", rank(), link_->host());
    return {piece, true, failure_to_bytes(std::current_exception(), place)};
  }
}

// The number of additional pieces to request now; they count as in hand from here on.
std::int64_t Follower::new_credit() {
  const double reserve = mean_s_ > 0 ? std::floor(num_threads_ * kHidden / mean_s_) : 0;
  const std::int64_t wanted =
      num_threads_ + static_cast<std::int64_t>(std::min(reserve, 3.0 * num_threads_));
  const std::int64_t credit = std::max<std::int64_t>(0, wanted - in_hand_);
  in_hand_ += credit;
  return credit;
}

void Follower::on_message(const std::string& bytes) {
  const std::lock_guard lock(mutex_);
  Reader reader(bytes);
  switch (reader.kind()) {
    case Kind::kPieces:
      on_pieces(reader);
      break;
    case Kind::kEnd: {
      const std::int64_t run = reader.number();
      const auto ending = static_cast<Ending>(reader.number());
      ends_[run] = {.ending = ending, .accepted = reader.number()};
      break;
    }
    case Kind::kShare:
      shared_.emplace_back(reader.text());
      break;
    case Kind::kFinish:
      dismissed_ = true;
      break;
    case Kind::kClose:
      close_ = true;
      all_there_ = reader.number() != 0;
      break;
    default:
      return;
  }
  changed_.notify_all();
}

void Follower::on_pieces(Reader& reader) {
  if (reader.number() != run_ || !running_) return;
  for (std::int64_t left = reader.number(); left > 0; --left) pieces_.push_back(reader.number());
}

void Follower::on_tick() {
  const std::lock_guard lock(mutex_);
  if (!leader_lost_ && courier_.silence_s(0) > leader_lost_after_s()) {
    leader_lost_ = true;
    changed_.notify_all();
  }
  if (!running_) return;
  const std::int64_t credit = new_credit();
  if (credit == 0 && results_.empty()) return;
  std::size_t at = 0;
  std::int64_t credit_left = credit;
  do {
    std::size_t end = at;
    for (std::size_t bytes = 0; end < results_.size() && bytes < kBytesOfMessage; ++end) {
      bytes += results_[end].bytes.size();
    }
    Writer writer(Kind::kResults);
    writer.number(run_).number(credit_left).number(static_cast<std::int64_t>(end - at));
    for (; at < end; ++at) {
      writer.number(results_[at].piece).number(results_[at].failed ? 1 : 0);
      writer.text(results_[at].bytes);
    }
    courier_.send(0, writer.take());
    credit_left = 0;
  } while (at < results_.size());
  results_.clear();
}

int Follower::finish(int exit_code) {
  courier_.send(0, Writer(Kind::kBye).take());
  bool all_there = false;
  {
    std::unique_lock lock(mutex_);
    while (!close_ && !leader_lost_ && !courier_.failed()) {
      changed_.wait_for(lock, std::chrono::milliseconds(200));
    }
    all_there = close_ && all_there_;
  }
  courier_.stop();
  link_->close(all_there, exit_code);
  return exit_code;
}

}  // namespace nereus::spread
