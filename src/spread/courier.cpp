#include "spread/courier.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "spread/rank_wire.hpp"

namespace nereus::spread {

namespace {

constexpr std::chrono::microseconds kShortest{200};
constexpr std::chrono::microseconds kLongest{2000};
constexpr double kLongestStep = 0.1;  // s

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Courier::Courier(Link& link, std::vector<int> peers, double alive_every_s, OnMessage on_message,
                 std::function<void()> on_tick)
    : link_(link),
      peers_(std::move(peers)),
      alive_every_s_(alive_every_s),
      on_message_(std::move(on_message)),
      on_tick_(std::move(on_tick)),
      pending_(static_cast<std::size_t>(link.size()), 0),
      silence_s_(new std::atomic<double>[link.size()]) {
  for (int rank = 0; rank < link.size(); ++rank) silence_s_[rank] = 0;
}

void Courier::start() {
  last_s_ = now_s();
  thread_ = std::thread([this] {
    try {
      loop();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
  });
}

void Courier::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void Courier::send(int to, std::string bytes) {
  const std::lock_guard lock(mutex_);
  outbox_.push_back({to, std::move(bytes)});
  wake_.notify_one();
}

void Courier::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  wake_.notify_one();
}

double Courier::silence_s(int rank) const { return silence_s_[rank]; }

std::size_t Courier::num_pending(int rank) {
  const std::lock_guard lock(mutex_);
  std::size_t count = pending_[rank];
  for (const Letter& letter : outbox_) count += letter.to == rank ? 1 : 0;
  return count;
}

void Courier::rethrow_failure() const {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

bool Courier::failed() const {
  const std::lock_guard lock(mutex_);
  return failure_ != nullptr;
}

void Courier::loop() {
  std::chrono::microseconds pause = kShortest;
  while (true) {
    const bool traffic = look();
    count_silence();
    give_signs_of_life();
    on_tick_();
    pause = traffic ? kShortest : std::min(pause * 3 / 2, kLongest);
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, pause, [&] { return stop_ || woken_ || !outbox_.empty(); });
    woken_ = false;
    if (stop_) return;
  }
}

bool Courier::look() {
  std::deque<Letter> letters;
  {
    const std::lock_guard lock(mutex_);
    letters.swap(outbox_);
    for (const Letter& letter : letters) ++pending_[letter.to];
  }
  bool traffic = !letters.empty();
  for (Letter& letter : letters) {
    if (!link_.send(letter.to, std::move(letter.bytes))) {
      silence_s_[letter.to] = std::numeric_limits<double>::infinity();
    }
  }
  int from = 0;
  std::string bytes;
  while (link_.receive(from, bytes)) {
    traffic = true;
    silence_s_[from] = 0;
    on_message_(from, bytes);
  }
  const std::lock_guard lock(mutex_);
  for (const int peer : peers_) pending_[peer] = link_.num_pending(peer);
  return traffic;
}

void Courier::count_silence() {
  const double now = now_s();
  const double step = std::min(now - last_s_, kLongestStep);
  last_s_ = now;
  since_alive_s_ += step;
  for (const int peer : peers_) {
    std::atomic<double>& silence = silence_s_[peer];
    silence = silence + step;
  }
}

// Skips ranks that have not received the last message: messages would pile up.
void Courier::give_signs_of_life() {
  if (since_alive_s_ < alive_every_s_) return;
  since_alive_s_ = 0;
  for (const int peer : peers_) {
    if (num_pending(peer) == 0) send(peer, Writer(Kind::kAlive).take());
  }
}

}  // namespace nereus::spread
