#include "cli/text/progress_bar.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nereus::cli::progress_bar_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Clock {
  ProgressBar::Clock::time_point now{};
  std::vector<std::string> written;

  // Reports once a second for a minute and a half.
  void run(const api::Terminal& terminal) {
    ProgressBar bar(
        terminal, [this](const std::string& text) { written.push_back(text); },
        [this] { return now; });
    for (int second = 1; second <= 90; ++second) {
      now += std::chrono::seconds(1);
      bar.show({.what = "rows", .done = 10.0 * second, .total = 900, .best = "1.2 s"});
    }
  }
};

TEST(Progress, PlainLineEveryThirtySecondsElsewhere) {
  Clock clock;
  clock.run({});
  EXPECT_THAT(clock.written,
              ElementsAre("300 of 900 rows (33.3 %), 10.0/s, 1.00 min left, best 1.2 s\n",
                          "600 of 900 rows (66.7 %), 10.0/s, 30.0 s left, best 1.2 s\n",
                          "900 of 900 rows (100.0 %), 10.0/s, best 1.2 s\n"));
}

TEST(Progress, BarOnATerminalGoesAway) {
  Clock clock;
  clock.run({.width = 60, .tty = true});
  EXPECT_EQ(clock.written.size(), 91u);
  EXPECT_THAT(clock.written[44], HasSubstr("[##########          ] 450 of 900 rows"));
  EXPECT_EQ(clock.written.back(), "\r\033[K");
  for (const std::string& text : clock.written) {
    EXPECT_THAT(text, ::testing::Not(HasSubstr("\n")));
    EXPECT_LE(api::display_width(text), 60 + 4);  // the carriage return and the erase sequence
  }
}

TEST(Progress, SaysNoShareWhereTheTotalIsUnknown) {
  EXPECT_EQ(progress_text({.what = "candidates", .done = 5000}, 10), "5,000 candidates, 500/s");
}

}  // namespace
}  // namespace nereus::cli::progress_bar_test
