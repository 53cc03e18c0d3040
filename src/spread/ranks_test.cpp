// Ranks as threads over a network in memory. Time-outs are short here; under a sanitizer or on a
// busy machine a rank may then be taken for lost when it is not, which changes no result.
#include "spread/ranks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "base/error.hpp"
#include "spread/rank_wire.hpp"
#include "spread/spread_testing.hpp"

namespace nereus::spread::ranks_test {
namespace {

using namespace std::chrono_literals;

constexpr double kLostAfter = 0.5;

Settings settings(double lost_after_s = kLostAfter) {
  return {.build = "test", .lost_after_s = lost_after_s, .finish_within_s = 5};
}

// Runs body(ranks) on every rank, rank 0 on this thread; what rank 0 throws comes out.
void on_ranks(MemoryNetwork& network, int size, const Settings& with,
              const std::function<void(Ranks&)>& body) {
  std::vector<std::jthread> others;
  for (int rank = 1; rank < size; ++rank) {
    others.emplace_back([&, rank] {
      const auto ranks = over(network.link(rank), with);
      try {
        body(*ranks);
      } catch (const Dismissed&) {
      } catch (const Errors& errors) {
        EXPECT_EQ(errors.list()[0].code, "spread.rank-0-lost");
      }
      ranks->finish(0);
    });
  }
  const auto ranks = over(network.link(0), with);
  try {
    body(*ranks);
  } catch (...) {
    ranks->finish(1);
    throw;
  }
  ranks->finish(0);
}

struct Book {
  std::string text;
  std::int64_t next = 0;
};

Work numbered(Book& book, std::int64_t count, std::function<void(std::int64_t)> before = {}) {
  return {.count = count,
          .compute =
              [before](std::int64_t piece) {
                if (before) before(piece);
                return std::to_string(piece) + "\n";
              },
          .accept =
              [&book](std::int64_t piece, std::string&& line) {
                EXPECT_EQ(piece, book.next++);
                book.text += line;
              },
          .name = "numbers"};
}

std::string numbers(std::int64_t count) {
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) text += std::to_string(i) + "\n";
  return text;
}

RC_GTEST_PROP(SpreadRanks, GiveTheSameResultAtAnyNumber, ()) {
  const auto size = *rc::gen::inRange(1, 5);
  const auto count = *rc::gen::inRange<std::int64_t>(0, 80);
  const auto threads = *rc::gen::inRange(1, 4);
  const auto delay_us = *rc::gen::inRange(0, 500);
  MemoryNetwork network(size);
  Book book;
  std::atomic<int> num_complete = 0;
  on_ranks(network, size, settings(30), [&](Ranks& ranks) {
    const Outcome outcome =
        ranks.run(numbered(book, count,
                           [&](std::int64_t) {
                             std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
                           }),
                  {.threads = threads});
    num_complete += outcome.ending == Ending::kComplete && outcome.accepted == count ? 1 : 0;
  });
  RC_ASSERT(book.text == numbers(count));
  RC_ASSERT(num_complete == size);
  for (int rank = 0; rank < size && size > 1; ++rank) {
    RC_ASSERT(network.closed_with_all_there(rank) == 1);
  }
}

TEST(SpreadRanks, OthersTakePart) {
  MemoryNetwork network(3);
  Book book;
  std::atomic<int> computed_by[3] = {0, 0, 0};
  const std::thread::id leader = std::this_thread::get_id();
  on_ranks(network, 3, settings(30), [&](Ranks& ranks) {
    const int rank = ranks.rank();
    EXPECT_EQ(rank == 0, std::this_thread::get_id() == leader);
    // Rank 0 waits for the others at its first piece: without them this would not end.
    const auto before = [&, rank](std::int64_t) {
      ++computed_by[rank];
      while (rank == 0 && (computed_by[1] < 5 || computed_by[2] < 5)) {
        std::this_thread::sleep_for(1ms);
      }
      std::this_thread::sleep_for(1ms);
    };
    ranks.run(numbered(book, 200, before), {.threads = 2});
  });
  EXPECT_EQ(book.text, numbers(200));
  EXPECT_GE(computed_by[0], 1) << "rank 0 computes too";
}

RC_GTEST_PROP(SpreadRanks, AreLostAtAnyTimeWithoutATrace, ()) {
  const auto size = *rc::gen::inRange(2, 5);
  const auto count = *rc::gen::inRange<std::int64_t>(1, 60);
  const auto at = *rc::gen::inRange<std::int64_t>(0, count);
  const auto victim = *rc::gen::inRange(1, size);
  const auto comes_back = *rc::gen::arbitrary<bool>();
  MemoryNetwork network(size);
  Book book;
  std::jthread doctor;
  on_ranks(network, size, settings(0.03), [&](Ranks& ranks) {
    const int rank = ranks.rank();
    Work work = numbered(book, count, [](std::int64_t) { std::this_thread::sleep_for(200us); });
    work.accept = [&, inner = work.accept](std::int64_t piece, std::string&& line) {
      EXPECT_EQ(rank, 0);
      inner(piece, std::move(line));
      if (piece != at) return;
      network.cut(victim);
      if (comes_back) {
        doctor = std::jthread([&] {
          std::this_thread::sleep_for(20ms);
          network.mend(victim);
        });
      }
    };
    ranks.run(work, {.threads = 2});
  });
  RC_ASSERT(book.text == numbers(count));
}

TEST(SpreadRanks, AreReportedWhenLostAndTheOthersAreEndedHard) {
  MemoryNetwork network(3);
  Book book;
  std::mutex mutex;
  std::string said;
  // Long enough that no rank is taken for lost because the machine is busy.
  Settings with = settings(3);
  with.say = [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    said += text + "\n";
  };
  std::atomic<bool> is_cut = false;
  on_ranks(network, 3, with, [&](Ranks& ranks) {
    const int rank = ranks.rank();
    const auto before = [&, rank](std::int64_t) {
      if (rank == 2 && !is_cut) {
        network.cut(2);
        is_cut = true;
      }
      // All would be done without it too: a piece that is overdue is computed by others.
      const auto is_lost = [&] {
        const std::lock_guard lock(mutex);
        return !said.empty();
      };
      while (!is_cut || (rank != 2 && !is_lost())) std::this_thread::sleep_for(1ms);
    };
    const Outcome outcome = ranks.run(numbered(book, 40, before), {.threads = 1});
    if (rank == 0) {
      EXPECT_THAT(outcome.lost_ranks, ::testing::Contains("rank 2 on memory"));
      EXPECT_GE(outcome.redone, 1);
    }
  });
  EXPECT_EQ(book.text, numbers(40));
  EXPECT_NE(said.find("rank 2 on memory has given no sign of life for 3 s"), std::string::npos);
  EXPECT_EQ(network.closed_with_all_there(0), 0);
  EXPECT_EQ(network.closed_with_all_there(1), 0);
}

TEST(SpreadRanks, EndByThemselvesWhenRank0IsGone) {
  MemoryNetwork network(2);
  Book book;
  std::string code;
  {
    const std::jthread other([&] {
      const auto ranks = over(network.link(1), settings(0.02));
      try {
        ranks->run(numbered(book, 5), {});
      } catch (const Errors& errors) {
        code = errors.list()[0].code;
      }
      ranks->finish(4);
    });
  }
  EXPECT_EQ(code, "spread.rank-0-lost");
  EXPECT_EQ(network.closed_with_all_there(1), 0);
}

TEST(SpreadRanks, HandOnWhatFailsElsewhere) {
  for (const bool user_error : {false, true}) {
    MemoryNetwork network(2);
    Book book;
    std::atomic<bool> thrown = false;
    const auto attempt = [&] {
      on_ranks(network, 2, settings(30), [&](Ranks& ranks) {
        const auto before = [&, leads = ranks.leads()](std::int64_t) {
          while (leads && !thrown) std::this_thread::sleep_for(1ms);
          if (leads) return;
          thrown = true;
          if (user_error) throw_environment_error("test.code", "text", "hint");
          throw std::runtime_error("what it was");
        };
        const Outcome outcome = ranks.run(numbered(book, 30, before), {.threads = 1});
        EXPECT_EQ(outcome.ending, Ending::kFailed) << "rank 0 throws";
      });
    };
    try {
      attempt();
      FAIL() << "nothing thrown";
    } catch (const Errors& errors) {
      EXPECT_TRUE(user_error);
      EXPECT_EQ(errors.list(),
                (std::vector<Error>{{"test.code", "text", {}, "hint", ErrorKind::kEnvironment}}));
    } catch (const std::runtime_error& error) {
      EXPECT_FALSE(user_error);
      EXPECT_STREQ(error.what(), "rank 1 on memory: what it was");
    }
    EXPECT_EQ(network.closed_with_all_there(0), 1);
  }
}

TEST(SpreadRanks, StopTogether) {
  MemoryNetwork network(3);
  Book book;
  std::atomic<int> num_stopped = 0;
  on_ranks(network, 3, settings(30), [&](Ranks& ranks) {
    Work work = numbered(book, 1000000);
    work.stop = [&] { return book.next >= 50; };
    const Outcome outcome = ranks.run(work, {});
    num_stopped += outcome.ending == Ending::kStopped && outcome.accepted == 50 ? 1 : 0;
  });
  EXPECT_EQ(num_stopped, 3);
  EXPECT_EQ(book.text, numbers(50));
}

TEST(SpreadRanks, RunSeveralTimesAndShareInBetween) {
  MemoryNetwork network(3);
  Book book;
  on_ranks(network, 3, settings(30), [&](Ranks& ranks) {
    for (int i = 0; i < 20; ++i) {
      if (ranks.leads()) book.next = 0;
      ranks.run(numbered(book, i), {});
      const std::string mine = ranks.leads() ? book.text : "";
      EXPECT_EQ(ranks.share(mine).size(), ranks.leads() ? mine.size() : numbers(i).size());
      if (ranks.leads()) {
        EXPECT_EQ(book.text, numbers(i));
        book.text.clear();
      }
    }
  });
}

TEST(SpreadRanks, AreDismissedWhenRank0FinishesEarly) {
  MemoryNetwork network(3);
  std::atomic<int> num_dismissed = 0;
  on_ranks(network, 3, settings(30), [&](Ranks& ranks) {
    if (ranks.leads()) return;  // e.g. a wrong input, which it has reported
    try {
      ranks.share("");
    } catch (const Dismissed&) {
      ++num_dismissed;
      throw;
    }
  });
  EXPECT_EQ(num_dismissed, 2);
  EXPECT_EQ(network.closed_with_all_there(0), 1);
}

TEST(SpreadRanks, RefuseAnotherBuildAndOtherWork) {
  for (const bool other_build : {false, true}) {
    MemoryNetwork network(2);
    Book book;
    const std::jthread other([&] {
      Settings with = settings(30);
      if (other_build) with.build = "older";
      const auto ranks = over(network.link(1), with);
      Work work = numbered(book, 100000);
      if (!other_build) work.name = "another study";
      EXPECT_EQ(ranks->run(work, {}).ending, Ending::kFailed);
      ranks->finish(0);
    });
    const auto ranks = over(network.link(0), settings(30));
    Work work = numbered(book, 100000, [](std::int64_t) { std::this_thread::sleep_for(1ms); });
    try {
      ranks->run(work, {});
      ADD_FAILURE() << "nothing thrown";
    } catch (const Errors& errors) {
      EXPECT_EQ(errors.list()[0].code, "spread.ranks-differ");
      EXPECT_NE(errors.list()[0].message.find(other_build ? "older" : "another study"),
                std::string::npos);
    }
    ranks->finish(4);
  }
}

TEST(SpreadRanks, AloneIsTheSame) {
  Book book;
  const auto ranks = alone();
  EXPECT_EQ(ranks->share("x"), "x");
  EXPECT_EQ(ranks->run(numbered(book, 30), {}).accepted, 30);
  EXPECT_EQ(book.text, numbers(30));
  EXPECT_EQ(ranks->finish(3), 3);
}

RC_GTEST_PROP(SpreadWire, CutMessagesAreNoticed, (const std::string& text, std::int64_t number)) {
  const std::string bytes = Writer(Kind::kShare).text(text).number(number).take();
  Reader whole(bytes);
  RC_ASSERT(whole.kind() == Kind::kShare);
  RC_ASSERT(whole.text() == text);
  RC_ASSERT(whole.number() == number);
  const auto size = *rc::gen::inRange<std::size_t>(0, bytes.size());
  const auto read = [&] {
    Reader cut(std::string_view(bytes).substr(0, size));
    cut.text();
    cut.number();
  };
  RC_ASSERT_THROWS_AS(read(), std::runtime_error);
}

}  // namespace
}  // namespace nereus::spread::ranks_test
