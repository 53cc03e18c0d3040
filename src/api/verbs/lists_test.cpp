#include "api/verbs/lists.hpp"

#include <gtest/gtest.h>

namespace nereus::api::lists_test {
namespace {

std::vector<int> read(const std::string& text, int least = 1) {
  ErrorList errors;
  std::vector<int> list = parse_whole_list("--tp", text, least, errors);
  EXPECT_EQ(errors.list().empty(), !list.empty());
  return list;
}

TEST(Lists, NumbersRangesAndSteps) {
  EXPECT_EQ(read("4"), (std::vector<int>{4}));
  EXPECT_EQ(read("4,1,2,4"), (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(read("2..5"), (std::vector<int>{2, 3, 4, 5}));
  EXPECT_EQ(read("2..64*2"), (std::vector<int>{2, 4, 8, 16, 32, 64}));
  EXPECT_EQ(read("8..32+8,3"), (std::vector<int>{3, 8, 16, 24, 32}));
  EXPECT_EQ(read("0,1", 0), (std::vector<int>{0, 1}));
}

TEST(Lists, AnythingElseIsAnError) {
  for (const char* text : {"", ",", "1,", "x", "1..", "..4", "5..2", "2..8*1", "0..8*2", "1..4+0",
                           "1.5", "-1", "0", "99999999999", "1..99999", "2..8*2*2", "1 2"})
    EXPECT_TRUE(read(text).empty()) << text;
}

}  // namespace
}  // namespace nereus::api::lists_test
