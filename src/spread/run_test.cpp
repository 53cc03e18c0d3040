#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "base/error.hpp"
#include "spread/ledger.hpp"
#include "spread/work.hpp"

namespace nereus::spread::run_test {
namespace {

using namespace std::chrono_literals;

// Collects what is accepted and fails on any piece out of turn.
struct Book {
  std::vector<std::string> lines;
  std::int64_t next = 0;
  void accept(std::int64_t piece, std::string&& line) {
    EXPECT_EQ(piece, next++);
    lines.push_back(std::move(line));
  }
};

std::vector<std::string> expected_lines(std::int64_t first, std::int64_t count) {
  std::vector<std::string> lines;
  for (std::int64_t i = 0; i < count; ++i) lines.push_back("piece " + std::to_string(first + i));
  return lines;
}

Work work_for(Book& book, std::int64_t first, std::int64_t count) {
  book.next = first;
  return {.first = first,
          .count = count,
          .compute = [](std::int64_t piece) { return "piece " + std::to_string(piece); },
          .accept = [&book](std::int64_t piece,
                            std::string&& line) { book.accept(piece, std::move(line)); }};
}

RC_GTEST_PROP(SpreadRun, AcceptsAllInOrderAtAnyNumberOfThreads, ()) {
  const auto count = *rc::gen::inRange<std::int64_t>(0, 120);
  const auto first = *rc::gen::inRange<std::int64_t>(-50, 50);
  const auto threads = *rc::gen::inRange(1, 9);
  const auto window = *rc::gen::inRange(0, 12);
  const auto delays_us = *rc::gen::container<std::vector<int>>(7, rc::gen::inRange(0, 300));
  Book book;
  Work work = work_for(book, first, count);
  work.compute = [&, inner = work.compute](std::int64_t piece) {
    const auto at = static_cast<std::size_t>(piece - first) % delays_us.size();
    std::this_thread::sleep_for(std::chrono::microseconds(delays_us[at]));
    return inner(piece);
  };
  const Outcome outcome = run(work, {.threads = threads, .window = window});
  RC_ASSERT(outcome == (Outcome{.ending = Ending::kComplete, .accepted = count}));
  RC_ASSERT(book.lines == expected_lines(first, count));
}

TEST(SpreadRun, StaysWithinItsWindowWhenAPieceOrAcceptIsSlow) {
  constexpr int kWindow = 5;
  for (const bool slow_accept : {false, true}) {
    std::atomic<int> computed = 0;
    std::atomic<int> accepted = 0;
    std::atomic<int> most = 0;
    Book book;
    Work work = work_for(book, 0, 60);
    work.compute = [&](std::int64_t piece) {
      if (!slow_accept && piece % 20 == 0) std::this_thread::sleep_for(30ms);
      const int ahead = ++computed - accepted;
      int seen = most;
      while (ahead > seen && !most.compare_exchange_weak(seen, ahead)) {
      }
      return std::string();
    };
    work.accept = [&](std::int64_t, std::string&&) {
      if (slow_accept) std::this_thread::sleep_for(1ms);
      ++accepted;
    };
    run(work, {.threads = 4, .window = kWindow});
    EXPECT_EQ(computed, 60);
    EXPECT_LE(most, kWindow + 1) << "the window, and the one being accepted";
    EXPECT_GE(most, kWindow) << "it is used";
  }
}

TEST(SpreadRun, UsesItsThreadsAtTheSameTime) {
  std::atomic<int> waiting = 0;
  Book book;
  Work work = work_for(book, 0, 4);
  work.compute = [&](std::int64_t) {  // ends only when four of them are there
    ++waiting;
    while (waiting < 4) std::this_thread::yield();
    return std::string();
  };
  EXPECT_EQ(run(work, {.threads = 4}).accepted, 4);
}

RC_GTEST_PROP(SpreadRun, ThrowsTheFirstFailureInOrderAfterAllBeforeIt, ()) {
  const auto count = *rc::gen::inRange<std::int64_t>(1, 60);
  const auto bad =
      *rc::gen::container<std::vector<std::int64_t>>(3, rc::gen::inRange<std::int64_t>(0, count));
  const auto threads = *rc::gen::inRange(1, 6);
  const std::int64_t first_bad = *std::min_element(bad.begin(), bad.end());
  Book book;
  Work work = work_for(book, 0, count);
  work.compute = [&, inner = work.compute](std::int64_t piece) {
    if (piece == first_bad) std::this_thread::sleep_for(1ms);  // the others fail before it
    if (std::count(bad.begin(), bad.end(), piece)) {
      throw_input_error("test.bad", "piece " + std::to_string(piece));
    }
    return inner(piece);
  };
  try {
    run(work, {.threads = threads});
    RC_FAIL("nothing thrown");
  } catch (const Errors& errors) {
    RC_ASSERT(errors.list()[0].message == "piece " + std::to_string(first_bad));
  }
  RC_ASSERT(book.lines == expected_lines(0, first_bad));
}

TEST(SpreadRun, ThrowsWhatAcceptThrowsAndComputesLittleMore) {
  std::atomic<int> computed = 0;
  Work work{.count = 1000000,
            .compute =
                [&](std::int64_t) {
                  ++computed;
                  return std::string();
                },
            .accept =
                [](std::int64_t piece, std::string&&) {
                  if (piece == 7) throw std::runtime_error("seven");
                }};
  EXPECT_THROW(run(work, {.threads = 3, .window = 10}), std::runtime_error);
  EXPECT_LE(computed, 8 + 10);
}

TEST(SpreadRun, StopsWhenAsked) {
  Book book;
  Work work = work_for(book, 100, 1000000);
  work.stop = [&] { return book.lines.size() == 25; };
  const Outcome outcome = run(work, {.threads = 3});
  EXPECT_EQ(outcome, (Outcome{.ending = Ending::kStopped, .accepted = 25}));
  EXPECT_EQ(book.lines, expected_lines(100, 25));
}

TEST(SpreadRun, StopsWhileItWaitsForASlowPiece) {
  std::atomic<bool> asked = false;
  Work work{.count = 10,
            .compute =
                [&](std::int64_t) {
                  asked = true;
                  std::this_thread::sleep_for(100ms);
                  return std::string();
                },
            .accept = [](std::int64_t, std::string&&) {},
            .stop = [&] { return asked.load(); }};
  EXPECT_EQ(run(work, {.threads = 1}).ending, Ending::kStopped);
}

// Against a plain model: what is with whom, over random takes, results and losses.
RC_GTEST_PROP(SpreadLedger, EveryPieceIsAcceptedOnceWhicheverRanksAreLost, ()) {
  const auto count = *rc::gen::inRange<std::int64_t>(0, 40);
  const auto window = *rc::gen::inRange<std::int64_t>(1, 10);
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  Ledger ledger(0, count, window, std::numeric_limits<double>::infinity());
  std::map<std::int64_t, std::set<int>> held;  // late results of lost ranks included
  std::int64_t accepted = 0;
  int steps = 0;
  while (accepted < count) {
    RC_ASSERT(++steps < 20000);
    const int rank = 1 + static_cast<int>(random() % 3);
    switch (random() % 4) {
      case 0:
        if (const auto piece = ledger.try_take(rank)) {
          RC_ASSERT(*piece >= accepted && *piece < accepted + window);
          held[*piece].insert(rank);
        }
        break;
      case 1:
        ledger.give_back(rank);
        break;
      default:
        if (!held.empty()) {
          const auto piece = held.begin()->first;
          held.erase(held.begin());
          ledger.put(piece, std::to_string(piece));
        }
    }
    std::int64_t piece = -1;
    std::string result;
    while (ledger.next(piece, result, 0ms) == Ledger::Next::kResult) {
      RC_ASSERT(piece == accepted);
      RC_ASSERT(result == std::to_string(accepted));
      ++accepted;
    }
  }
}

TEST(SpreadLedger, HandsOutAnOverdueElsewhereOnceNothingFreshIsLeft) {
  Ledger::Clock::time_point now{};
  Ledger ledger(0, 2, 10, 0.02, [&] { return now; });
  EXPECT_EQ(ledger.try_take(1), 0);
  EXPECT_EQ(ledger.try_take(2), 1);
  EXPECT_EQ(ledger.try_take(2), std::nullopt) << "too early";
  now += 30ms;
  EXPECT_EQ(ledger.try_take(1), 1) << "not its own";
  EXPECT_EQ(ledger.take(), 0) << "this process too";
  EXPECT_EQ(ledger.num_redone(), 2);
}

TEST(SpreadLedger, IsMorePatientWithLongPieces) {
  Ledger::Clock::time_point now{};
  Ledger ledger(0, 3, 10, 0.001, [&] { return now; });
  EXPECT_EQ(ledger.try_take(1), 0);
  now += 30ms;
  ledger.put(0, "");  // so pieces take 30 ms: the limit is 8 times as much
  EXPECT_EQ(ledger.try_take(1), 1);
  EXPECT_EQ(ledger.try_take(1), 2);
  now += 239ms;
  EXPECT_EQ(ledger.try_take(2), std::nullopt);
  now += 2ms;
  EXPECT_EQ(ledger.try_take(2), 1);
}

// A failure must not keep the pieces before it from being redone, or the run would never end.
TEST(SpreadLedger, RedoesWhatComesBeforeAFailure) {
  Ledger ledger(0, 4, 10, 100);
  EXPECT_EQ(ledger.try_take(1), 0);
  EXPECT_EQ(ledger.try_take(2), 1);
  EXPECT_EQ(ledger.try_take(1), 2);
  ledger.fail(1, std::make_exception_ptr(std::runtime_error("one")));
  EXPECT_EQ(ledger.try_take(2), std::nullopt) << "nothing fresh after a failure";
  EXPECT_EQ(ledger.give_back(1), 2);
  EXPECT_EQ(ledger.try_take(2), 0);
  EXPECT_EQ(ledger.try_take(2), std::nullopt) << "2 comes after the failure";
  ledger.put(0, "");
  std::int64_t piece = -1;
  std::string result;
  EXPECT_EQ(ledger.next(piece, result, 0ms), Ledger::Next::kResult);
  EXPECT_THROW(ledger.next(piece, result, 0ms), std::runtime_error);
}

}  // namespace
}  // namespace nereus::spread::run_test
