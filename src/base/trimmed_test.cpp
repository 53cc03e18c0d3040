#include "base/trimmed.hpp"

#include <gtest/gtest.h>

namespace nereus::trimmed_test {
namespace {

TEST(Trimmed, TakesBlanksFromBothEndsOnly) {
  EXPECT_EQ(trimmed(" \t80 GiB\r"), "80 GiB");
  EXPECT_EQ(trimmed("a\tb"), "a\tb");
  EXPECT_EQ(trimmed("line\n"), "line\n");
}

TEST(Trimmed, OfBlanksIsTheirEnd) {
  for (const std::string_view text : {"", " ", "\t \r"}) {
    EXPECT_EQ(trimmed(text), "");
    EXPECT_EQ(trimmed(text).data(), text.data() + text.size());
  }
}

}  // namespace
}  // namespace nereus::trimmed_test
