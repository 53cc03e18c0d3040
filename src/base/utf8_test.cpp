#include "base/utf8.hpp"

#include <gtest/gtest.h>

namespace nereus::utf8_test {
namespace {

TEST(Utf8, EveryCharacterComesBack) {
  for (std::uint32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string text;
    append_utf8(text, code);
    const Utf8Character whole = decode_utf8(text + "x");
    ASSERT_EQ(whole.code, code);
    ASSERT_EQ(whole.length, text.size());
    for (std::size_t i = 0; i < text.size(); ++i) ASSERT_EQ(continues_utf8(text[i]), i > 0);
    if (text.size() == 1) continue;
    ASSERT_EQ(decode_utf8(text.substr(0, text.size() - 1)).length, 0u) << "cut short";
  }
}

TEST(Utf8, WhatIsNoCharacterHasNoLength) {
  for (const char* text :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xED\xA0\x80",
        "\xED\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xC3(", "\xE2\x82("})
    EXPECT_EQ(decode_utf8(text).length, 0u) << text;
}

}  // namespace
}  // namespace nereus::utf8_test
