#include "spread/leader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "base/format.hpp"
#include "spread/crew.hpp"

namespace nereus::spread {

namespace {

constexpr std::chrono::milliseconds kPoll{5};

std::vector<int> others(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size - 1));
  std::iota(ranks.begin(), ranks.end(), 1);
  return ranks;
}

}  // namespace

Leader::Leader(std::unique_ptr<Link> link, Settings settings)
    : link_(std::move(link)),
      settings_(std::move(settings)),
      peers_(static_cast<std::size_t>(link_->size())),
      courier_(
          *link_, others(link_->size()), settings_.alive_every_s(),
          [this](int from, const std::string& bytes) { on_message(from, bytes); },
          [this] { on_tick(); }) {
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    peers_[rank].name = fmt::format("rank {}", rank);
  }
  courier_.start();
}

std::string Leader::share(std::string bytes) {
  send_to_all(Writer(Kind::kShare).text(bytes).take());
  return bytes;
}

Outcome Leader::run(const Work& work, const Options& options) {
  const int asked = options.threads > 0 ? options.threads : link_->threads();
  Ledger ledger(work.first, work.count, window_of(options, asked), settings_.lost_after_s);
  {
    const std::lock_guard lock(mutex_);
    ++run_;
    options_ = options;
    options_.threads = asked;
    work_ = &work;
    ledger_ = &ledger;
    ledger.widen(window());
  }
  Outcome outcome{.ending = Ending::kFailed};
  try {
    const Crew crew(work, ledger, std::max(1, asked - 1));
    outcome = accept_all(work, ledger, [this] {
      courier_.rethrow_failure();
      complain();
    });
    end_run(outcome);  // before the crew's last pieces, so that all stop at the same time
  } catch (...) {
    end_run(outcome);
    throw;
  }
  return outcome;
}

void Leader::end_run(Outcome& outcome) {
  std::int64_t run = 0;
  {
    const std::lock_guard lock(mutex_);
    ledger_ = nullptr;
    work_ = nullptr;
    run = run_;
    outcome.lost_ranks.clear();
    for (const Peer& peer : peers_) {
      if (peer.lost) outcome.lost_ranks.push_back(peer.name);
    }
  }
  send_to_all(Writer(Kind::kEnd)
                  .number(run)
                  .number(static_cast<std::int64_t>(outcome.ending))
                  .number(outcome.accepted)
                  .take());
}

void Leader::on_message(int from, const std::string& bytes) {
  const std::lock_guard lock(mutex_);
  Peer& peer = peers_[from];
  Reader reader(bytes);
  switch (reader.kind()) {
    case Kind::kHello:
      return on_hello(peer, reader, from);
    case Kind::kReady:
      return on_ready(peer, reader);
    case Kind::kResults:
      return on_results(peer, reader);
    case Kind::kBye:
      peer.bye = true;
      if (ledger_ != nullptr) ledger_->give_back(from);
      return;
    default:
      return;
  }
}

void Leader::on_hello(Peer& peer, Reader& reader, int from) {
  const std::string build(reader.text());
  peer.name = fmt::format("rank {} on {}", from, reader.text());
  peer.threads = static_cast<int>(reader.number());
  if (build != settings_.build) {
    peer.complaint =
        fmt::format("{} runs another build: {}, and rank 0 {}", peer.name, build, settings_.build);
  }
}

void Leader::on_ready(Peer& peer, Reader& reader) {
  const std::int64_t run = reader.number();
  const std::int64_t first = reader.number();
  const std::int64_t count = reader.number();
  const std::string_view name = reader.text();
  const std::int64_t credit = reader.number();
  if (!peer.complaint.empty()) return;
  // Rank 0 may not have begun this run yet, so the work is compared when pieces are handed out.
  peer.run = run;
  peer.credit = credit;
  peer.first = first;
  peer.count = count;
  peer.work_name = name;
  if (ledger_ != nullptr) ledger_->widen(window());
}

void Leader::on_results(Peer& peer, Reader& reader) {
  const std::int64_t run = reader.number();
  const std::int64_t credit = reader.number();
  if (run != run_ || ledger_ == nullptr || peer.run != run) return;
  peer.credit += credit;
  for (std::int64_t left = reader.number(); left > 0; --left) {
    const std::int64_t piece = reader.number();
    const bool failed = reader.number() != 0;
    const std::string_view bytes = reader.text();
    if (failed) {
      ledger_->fail(piece, failure_from_bytes(bytes));
    } else {
      ledger_->put(piece, std::string(bytes));
    }
  }
}

void Leader::on_tick() {
  const std::lock_guard lock(mutex_);
  for (int rank = 1; rank < size(); ++rank) {
    Peer& peer = peers_[rank];
    look_for_lost(rank, peer);
    if (ledger_ != nullptr && peer.run == run_ && !peer.lost && !peer.bye && peer.credit > 0) {
      hand_out(rank, peer);
    }
  }
}

void Leader::look_for_lost(int rank, Peer& peer) {
  const bool silent = courier_.silence_s(rank) > settings_.lost_after_s;
  if (silent == peer.lost || peer.bye) return;
  peer.lost = silent;
  if (!silent) return say(fmt::format("{} is back", peer.name));
  const std::int64_t pieces = ledger_ != nullptr ? ledger_->give_back(rank) : 0;
  say(fmt::format("{} has given no sign of life for {:g} s; {} to others", peer.name,
                  settings_.lost_after_s,
                  counted(pieces, "of its pieces goes", "of its pieces go")));
}

void Leader::hand_out(int rank, Peer& peer) {
  if (peer.first != work_->first || peer.count != work_->count || peer.work_name != work_->name) {
    peer.complaint = fmt::format(
        "{} has other work than rank 0: pieces {}+{} of '{}', not {}+{} of '{}'", peer.name,
        peer.first, peer.count, peer.work_name, work_->first, work_->count, work_->name);
    peer.credit = 0;
    return;
  }
  std::vector<std::int64_t> pieces;
  while (static_cast<std::int64_t>(pieces.size()) < peer.credit) {
    const auto piece = ledger_->try_take(rank);
    if (!piece) break;
    pieces.push_back(*piece);
  }
  if (pieces.empty()) return;
  peer.credit -= static_cast<std::int64_t>(pieces.size());
  Writer writer(Kind::kPieces);
  writer.number(run_).number(static_cast<std::int64_t>(pieces.size()));
  for (const std::int64_t piece : pieces) writer.number(piece);
  courier_.send(rank, writer.take());
}

void Leader::complain() const {
  std::vector<Error> list;
  const std::lock_guard lock(mutex_);
  for (const Peer& peer : peers_) {
    if (peer.complaint.empty()) continue;
    list.push_back({"spread.ranks-differ",
                    peer.complaint,
                    {},
                    "start the same program with the same arguments and files on every machine",
                    ErrorKind::kEnvironment});
  }
  if (!list.empty()) throw Errors(std::move(list));
}

void Leader::say(const std::string& text) const {
  if (settings_.say) settings_.say(text);
}

void Leader::send_to_all(const std::string& bytes) {
  for (int rank = 1; rank < size(); ++rank) courier_.send(rank, bytes);
}

std::int64_t Leader::window() const {
  int num_threads = options_.threads;
  for (std::size_t rank = 1; rank < peers_.size(); ++rank) num_threads += peers_[rank].threads;
  return window_of(options_, num_threads);
}

int Leader::finish(int exit_code) {
  send_to_all(Writer(Kind::kFinish).take());
  const bool all_there = wait_for_byes();
  if (!all_there) say("ending the ranks that did not answer; what MPI says of it is no failure");
  send_to_all(Writer(Kind::kClose).number(all_there ? 1 : 0).take());
  wait_for_letters();
  courier_.stop();
  link_->close(all_there, exit_code);
  return exit_code;
}

// Waits until each rank has said goodbye or is lost; returns false if one is lost or computes too
// long.
bool Leader::wait_for_byes() {
  const auto begin = std::chrono::steady_clock::now();
  const std::chrono::duration<double> patience(settings_.finish_within_s);
  while (true) {
    int num_lost = 0;
    int num_busy = 0;
    {
      const std::lock_guard lock(mutex_);
      for (std::size_t rank = 1; rank < peers_.size(); ++rank) {
        const Peer& peer = peers_[rank];
        num_lost += !peer.bye && peer.lost ? 1 : 0;
        num_busy += !peer.bye && !peer.lost ? 1 : 0;
      }
    }
    if (num_busy == 0) return num_lost == 0;
    if (std::chrono::steady_clock::now() - begin > patience) return false;
    std::this_thread::sleep_for(kPoll);
  }
}

void Leader::wait_for_letters() {
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::seconds(2)) {
    std::size_t pending = 0;
    {
      const std::lock_guard lock(mutex_);
      for (int rank = 1; rank < size(); ++rank) {
        if (!peers_[rank].lost) pending += courier_.num_pending(rank);
      }
    }
    if (pending == 0) return;
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace nereus::spread
