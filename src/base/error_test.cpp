#include "base/error.hpp"

#include <gtest/gtest.h>

namespace nereus::error_test {
namespace {

TEST(ErrorText, PointsAtTheColumn) {
  const Error error{"spec.syntax", "what", {"a.toml", 3, 5, "x = ?"}, "write a number"};
  EXPECT_EQ(to_text(error),
            "error[spec.syntax]: what\n"
            "  --> a.toml:3:5\n"
            "    3 | x = ?\n"
            "      |     ^\n"
            "  hint: write a number");
}

TEST(ErrorText, CountsCharactersAndKeepsTabs) {
  const Error error{"c", "m", {"a", 1, 4, "\t\xC3\xA4 ?"}, {}};
  EXPECT_EQ(to_text(error), "error[c]: m\n  --> a:1:4\n    1 | \t\xC3\xA4 ?\n      | \t  ^");
}

TEST(ErrorText, PointsIntoThePartOfALongLine) {
  const Error error{"c", "m", {"a", 1, 1003, "abcdef", 1000}, {}};
  EXPECT_EQ(to_text(error), "error[c]: m\n  --> a:1:1003\n    1 | abcdef\n      |    ^");
}

TEST(ErrorText, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(to_text({"c", "m", {}, {}}), "error[c]: m");
  EXPECT_EQ(to_text({"c", "m", {"a"}, {}}), "error[c]: m\n  --> a");
}

TEST(ErrorList, ThrowsAllAtOnce) {
  ErrorList errors;
  errors.throw_if_any();
  errors.add("a", "first");
  errors.add("b", "second");
  try {
    errors.throw_if_any();
    FAIL() << "nothing thrown";
  } catch (const Errors& thrown) {
    EXPECT_EQ(thrown.list().size(), 2u);
    EXPECT_STREQ(thrown.what(), "error[a]: first\nerror[b]: second");
  }
}

TEST(Check, AbortsWithPlaceAndMessage) {
  EXPECT_DEATH(NEREUS_CHECK(1 + 1 == 3, "sums"), "error_test.cpp.*1 \\+ 1 == 3.*sums");
}

}  // namespace
}  // namespace nereus::error_test
