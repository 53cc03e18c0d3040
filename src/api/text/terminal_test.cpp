#include "api/text/terminal.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>

namespace nereus::api::terminal_test {
namespace {

TEST(Terminal, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("µs ─"), 4);
  EXPECT_EQ(display_width("模型"), 4);
  EXPECT_GT(display_width("\xff\x80"), 0);  // not UTF-8: still something
}

TEST(Terminal, CutsWithAnEllipsis) {
  EXPECT_EQ(truncated("dgx-h100", 8, {}), "dgx-h100");
  EXPECT_EQ(truncated("dgx-h100", 5, {}), "dgx-~");
  EXPECT_EQ(truncated("dgx-h100", 5, {.utf8 = true}), "dgx-…");
}

TEST(Terminal, BarsGrowWithTheirShare) {
  EXPECT_EQ(bar(0, 10, {}), "");
  EXPECT_EQ(bar(0.001, 10, {}), "#");
  EXPECT_EQ(bar(0.5, 10, {}), "#####");
  EXPECT_EQ(bar(7, 10, {}), "##########");
  EXPECT_EQ(bar(0.55, 10, {.utf8 = true}), "█████▌");
  EXPECT_EQ(bar(-1, 10, {}), "");
}

RC_GTEST_PROP(Terminal, WrapKeepsEveryWordWithinTheWidth, ()) {
  const auto words = *rc::gen::container<std::vector<std::string>>(
      rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('a', 'z'))));
  const int width = *rc::gen::inRange(1, 40);
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  const std::string result = wrapped(text, width, 3);
  std::string joined, expected;
  for (char c : result) joined += c == ' ' || c == '\n' ? "" : std::string(1, c);
  for (const std::string& word : words) expected += word;
  RC_ASSERT(joined == expected);
  std::istringstream lines(result);
  int number = 0;
  for (std::string line; std::getline(lines, line); ++number) {
    RC_ASSERT(display_width(line) <= width + (number > 0 ? 3 : 0));
  }
}

}  // namespace
}  // namespace nereus::api::terminal_test
