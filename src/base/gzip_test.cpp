#include "base/gzip.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>

#include "base/error.hpp"

namespace nereus::gzip_test {
namespace {

TEST(Gzip, WhatGoesInComesOut) {
  EXPECT_TRUE(rc::check([](const std::string& text) {
    RC_ASSERT(gunzip(gzip(text)) == text);
    RC_ASSERT(gunzip(gzip(text) + gzip(text)) == text + text);
    RC_ASSERT(gunzip_if_zipped(gzip(text)) == text);
  }));
  std::string large;
  for (std::int64_t i = 0; i < 400'000; ++i) large += std::to_string(i * 7919 % 1'000'003);
  EXPECT_EQ(gunzip(gzip(large)), large);
  EXPECT_LT(gzip(large).size(), large.size());
  EXPECT_EQ(gzip(large), gzip(large));
  EXPECT_EQ(gunzip_if_zipped("plain"), "plain");
}

TEST(Gzip, BrokenBytesAreRefused) {
  const std::string whole = gzip("a text that is long enough to be cut somewhere");
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_THROW(gunzip(whole.substr(0, length)), Errors) << length;
  std::string wrong = whole;
  wrong[whole.size() - 6] = static_cast<char>(wrong[whole.size() - 6] ^ 1);  // of the check sum
  EXPECT_THROW(gunzip(wrong), Errors);
  EXPECT_THROW(gunzip(whole, 10), Errors);
  EXPECT_THROW(gunzip("plain"), Errors);
}

}  // namespace
}  // namespace nereus::gzip_test
