#include "base/decimal.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <string>

namespace nereus::decimal_test {
namespace {

struct Reading {
  double value = 42;
  std::ptrdiff_t length = 0;
  std::errc code{};
};

template <class Reader>
Reading read(Reader reader, const std::string& text) {
  Reading r;
  const auto [end, code] = reader(text.data(), text.data() + text.size(), r.value);
  r.length = end - text.data();
  r.code = code;
  return r;
}

void expect_same(const std::string& text) {
  const Reading a = read([](auto&&... x) { return read_decimal(x...); }, text);
  const Reading b = read([](auto&&... x) { return decimal::read_by_strtod(x...); }, text);
  EXPECT_EQ(a.code, b.code) << text;
  EXPECT_EQ(a.length, b.length) << text;
  EXPECT_TRUE(a.value == b.value || (std::isnan(a.value) && std::isnan(b.value))) << text;
}

TEST(Decimal, BothWaysTakeTheSameOfAnyText) {
  for (const char* text : {"",
                           "-",
                           "+1",
                           " 1",
                           "1",
                           "-1",
                           ".5",
                           "5.",
                           ".",
                           "-.",
                           "1e5",
                           "1e",
                           "1e+",
                           "1E-3x",
                           "0x10",
                           "1e400",
                           "-1e400",
                           "1e-400",
                           "0e999",
                           "0.0e-999",
                           "1.5.2",
                           "1,5",
                           "inf",
                           "-INF",
                           "Infinity",
                           "infin",
                           "nan",
                           "nanx",
                           "NaN",
                           "1_000",
                           "4.9e-324",
                           "2.2250738585072011e-308",
                           "179769313486231570000000000000000000000",
                           "0.1",
                           "123456789012345678901234567890"})
    expect_same(text);
}

TEST(Decimal, IsTheNearestDouble) {
  EXPECT_EQ(read([](auto&&... x) { return decimal::read_by_strtod(x...); }, "0.1").value, 0.1);
  EXPECT_EQ(read([](auto&&... x) { return read_decimal(x...); }, "8.41e21").value, 8.41e21);
}

RC_GTEST_PROP(Decimal, BothWaysReadTheSameNumber, ()) {
  const auto piece = [] {
    return std::to_string(*rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 50));
  };
  expect_same(piece() + "." + piece() + "e" + std::to_string(*rc::gen::inRange(-340, 320)));
}

}  // namespace
}  // namespace nereus::decimal_test
