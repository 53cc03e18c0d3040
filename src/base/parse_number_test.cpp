#include "base/parse_number.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace nereus::parse_number_test {
namespace {

TEST(ParseNumber, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_number<int>("12"), 12);
  EXPECT_EQ(parse_number<std::int64_t>("-5000000000"), -5'000'000'000);
  EXPECT_EQ(parse_number<double>("1e3"), 1000.0);
  for (const char* text : {"", " 1", "1 ", "+1", "1,5", "one", "-"}) {
    EXPECT_EQ(parse_number<int>(text), std::nullopt) << text;
    EXPECT_EQ(parse_number<double>(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_number<int>("1.5"), std::nullopt);
  EXPECT_EQ(parse_number<int>("3000000000"), std::nullopt) << "too large";
}

}  // namespace
}  // namespace nereus::parse_number_test
