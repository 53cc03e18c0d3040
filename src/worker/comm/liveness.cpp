#include "worker/comm/liveness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <sstream>

#include "base/error.hpp"

namespace nereus::worker {

using std::chrono::milliseconds;

namespace {

constexpr int kNobody = -1;

std::uint64_t random_token() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

double seconds(Liveness::Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

enum class DatagramKind : std::uint32_t { kQuestion, kAnswer, kBlame, kLeft };

// In the form that is sent; all supported machines are little-endian.
struct Liveness::Datagram {
  std::uint64_t token = 0;
  DatagramKind kind = DatagramKind::kQuestion;
  std::int32_t from = 0;
  std::uint64_t slot = 0;         // the group that is asked about
  std::uint64_t num_started = 0;  // operations of it
  std::int32_t waits_for = kNobody;
  std::int32_t blames = kNobody;
};

Liveness::Liveness(int rank, int num_ranks, const std::string& own_address, milliseconds timeout)
    : rank_(rank),
      own_address_(own_address),
      timeout_(timeout),
      window_(std::clamp(timeout / 3, milliseconds(1), milliseconds(3000))),
      period_(std::max(window_ / 10, milliseconds(1))),
      token_(random_token()),
      socket_(own_address),
      peers_(static_cast<std::size_t>(num_ranks)) {}

Liveness::~Liveness() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  socket_.wake();
  if (thread_.joinable()) thread_.join();
}

std::string Liveness::address() const {
  return fmt::format("{} {} {}", own_address_, socket_.port(), token_);
}

void Liveness::start(const std::vector<std::string>& addresses) {
  NEREUS_CHECK(addresses.size() == peers_.size(), "one address a rank");
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    std::istringstream text(addresses[i]);
    std::string host;
    int port = 0;
    text >> host >> port >> peers_[i].token;
    peers_[i].address = resolve(host, port);
  }
  thread_ = std::thread([this] { run(); });
}

Liveness::Wait::Wait(Liveness& liveness, int peer) : liveness_(liveness) {
  const std::lock_guard lock(liveness.mutex_);
  record_ = liveness.waits_.insert(liveness.waits_.end(), {Clock::now(), peer, nullptr});
}

Liveness::Wait::Wait(Liveness& liveness, const std::atomic<int>& peer) : liveness_(liveness) {
  const std::lock_guard lock(liveness.mutex_);
  record_ = liveness.waits_.insert(liveness.waits_.end(), {Clock::now(), kNobody, &peer});
}

Liveness::Wait::~Wait() {
  const std::lock_guard lock(liveness_.mutex_);
  liveness_.waits_.erase(record_);
}

void Liveness::count_operation(std::uint64_t slot) {
  const std::lock_guard lock(mutex_);
  ++num_started_[slot];
}

// Waits are in the order they began, so the first is the oldest.
bool Liveness::should_ask(Clock::time_point now) const {
  if (num_searches_ > 0) return true;
  return !waits_.empty() && now - waits_.front().since > timeout_ - window_ - 3 * period_;
}

int Liveness::waits_for() const {
  for (const auto& record : waits_)
    if (record.callers_peer != nullptr) return record.callers_peer->load();
  return kNobody;
}

void Liveness::send(int to, Datagram datagram) {
  const Peer& peer = peers_[to];
  datagram.token = peer.token;
  datagram.from = rank_;
  socket_.send(peer.address, &datagram, sizeof datagram);
}

void Liveness::send_to_all(const Datagram& datagram) {
  for (int to = 0; to < static_cast<int>(peers_.size()); ++to)
    if (to != rank_) send(to, datagram);
}

void Liveness::run() {
  constexpr milliseconds kIdle{100};  // how soon it is noticed that a wait became old
  Clock::time_point next_question = {};
  milliseconds pause = std::min(kIdle, period_);
  while (true) {
    Datagram datagram;
    const std::size_t size = socket_.receive(&datagram, sizeof datagram, pause);
    const std::lock_guard lock(mutex_);
    if (ending_) return;
    if (size == sizeof datagram && datagram.token == token_) receive_one(datagram);
    const auto now = Clock::now();
    if (!should_ask(now)) {
      asking_since_.reset();
      pause = std::min(kIdle, std::max(period_, milliseconds(1)));
      continue;
    }
    if (!asking_since_) asking_since_ = now;
    if (now >= next_question) {
      next_question = now + period_;
      Datagram question;
      question.kind = DatagramKind::kQuestion;
      question.slot = asked_slot_;
      send_to_all(question);
      heard_.notify_all();  // time passed, which is news too
    }
    pause = std::max(std::chrono::ceil<milliseconds>(next_question - now), milliseconds(1));
  }
}

void Liveness::receive_one(const Datagram& datagram) {
  if (datagram.from < 0 || datagram.from >= static_cast<int>(peers_.size())) return;
  Peer& peer = peers_[datagram.from];
  peer.heard = Clock::now();
  if (datagram.blames >= 0) peer.blames = datagram.blames;
  switch (datagram.kind) {
    case DatagramKind::kQuestion: {
      Datagram answer;
      answer.kind = DatagramKind::kAnswer;
      answer.slot = datagram.slot;
      const auto started = num_started_.find(datagram.slot);
      answer.num_started = started == num_started_.end() ? 0 : started->second;
      answer.waits_for = waits_for();
      answer.blames = verdict_ ? verdict_->missing_rank : kNobody;
      send(datagram.from, answer);
      break;
    }
    case DatagramKind::kAnswer:
      peer.waits_for = datagram.waits_for;
      peer.num_started[datagram.slot] = datagram.num_started;
      break;
    case DatagramKind::kBlame:
      break;
    case DatagramKind::kLeft:
      peer.left = true;
      break;
  }
  heard_.notify_all();
}

std::optional<int> Liveness::blamed() const {
  for (const Peer& peer : peers_) {
    if (peer.blames < 0) continue;
    // The blamed rank may blame another one.
    int blame = peer.blames;
    for (std::size_t steps = 0; steps < peers_.size(); ++steps) {
      const int next = peers_[blame].blames;
      if (next < 0 || next == rank_) break;
      blame = next;
    }
    return blame;
  }
  return std::nullopt;
}

int Liveness::follow_waits(int from) const {
  int at = from;
  for (std::size_t steps = 0; steps < peers_.size(); ++steps) {
    const int next = peers_[at].waits_for;
    if (next < 0 || next == rank_) return at;
    at = next;
  }
  return from;  // a circle: all wait for each other
}

Liveness::Clock::duration Liveness::quiet_time(int rank, Clock::time_point now) const {
  const Peer& peer = peers_[rank];
  if (peer.left || !asking_since_) return Clock::duration::zero();
  return now - std::max(peer.heard.value_or(Clock::time_point{}), *asking_since_);
}

std::optional<Verdict> Liveness::verdict_now(const Failure& failure, bool last) const {
  const auto now = Clock::now();
  if (const auto blame = blamed(); blame && *blame != rank_)
    return Verdict{*blame, "was found missing by another rank"};
  int silent = kNobody;
  for (int i = 0; i < static_cast<int>(peers_.size()); ++i)
    if (i != rank_ && quiet_time(i, now) >= window_ && (silent == kNobody || i == failure.peer))
      silent = i;
  if (silent != kNobody)
    return Verdict{silent,
                   fmt::format("shows no life for {:.1f} s", seconds(quiet_time(silent, now)))};
  if (failure.peer >= 0 && peers_[failure.peer].left) return Verdict{failure.peer, "left the job"};
  if (!last) return std::nullopt;

  int behind = failure.peer;
  const auto own = num_started_.find(failure.slot);
  std::uint64_t fewest = own == num_started_.end() ? 0 : own->second;
  for (const int member : failure.members) {
    if (member == rank_) continue;
    const auto& counts = peers_[member].num_started;
    const auto theirs = counts.find(failure.slot);
    if (theirs != counts.end() && theirs->second < fewest) {
      fewest = theirs->second;
      behind = member;
    }
  }
  if (behind < 0) return Verdict{};
  return Verdict{follow_waits(behind), "shows life but is behind"};
}

Verdict Liveness::find_missing(const Failure& failure) {
  std::unique_lock lock(mutex_);
  if (verdict_) return *verdict_;
  ++num_searches_;
  asked_slot_ = failure.slot;
  socket_.wake();
  // Four periods more than the window: for answers to the last questions.
  const auto deadline = Clock::now() + window_ + 4 * period_;
  // At a time-out the questions run already; answers about this group are yet to come.
  const auto enough = Clock::now() + 3 * period_;
  std::optional<Verdict> verdict;
  while (!verdict && !verdict_) {
    heard_.wait_for(lock, period_);
    const auto now = Clock::now();
    const bool asked_long = asking_since_ && now - *asking_since_ >= window_ + period_;
    verdict = verdict_now(failure, now >= deadline || (asked_long && now >= enough));
  }
  --num_searches_;
  if (!verdict_) verdict_ = verdict;
  Datagram blame;
  blame.kind = DatagramKind::kBlame;
  blame.blames = verdict_->missing_rank;
  if (verdict_->missing_rank >= 0) send_to_all(blame);
  return *verdict_;
}

bool Liveness::knows_missing() const {
  const std::lock_guard lock(mutex_);
  const std::optional<int> blame = blamed();
  return blame && *blame != rank_;
}

void Liveness::stop_looking() {
  {
    const std::lock_guard lock(mutex_);
    if (!verdict_) verdict_ = Verdict{};
  }
  heard_.notify_all();
}

void Liveness::leave(bool wait) {
  std::unique_lock lock(mutex_);
  Datagram farewell;
  farewell.kind = DatagramKind::kLeft;
  const auto deadline = Clock::now() + window_;
  const auto all_left = [&] {
    for (std::size_t i = 0; i < peers_.size(); ++i)
      if (static_cast<int>(i) != rank_ && !peers_[i].left) return false;
    return true;
  };
  // Said again and again: datagrams may be lost.
  do {
    send_to_all(farewell);
    if (!wait) return;
    heard_.wait_for(lock, period_, all_left);
  } while (!all_left() && Clock::now() < deadline);
}

}  // namespace nereus::worker
