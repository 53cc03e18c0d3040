#include "data/split.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "base/utf8.hpp"
#include "data/unicode.hpp"

namespace nereus::data::split_test {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> pieces(SplitRule rule, const std::string& text) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < text.size();) {
    const Piece piece = next_piece(rule, text, at);
    found.push_back(text.substr(at, piece.end - at));
    at = piece.end;
  }
  return found;
}

TEST(Split, AsGpt2) {
  EXPECT_THAT(pieces(SplitRule::kGpt2, "Hello world! It's 1234 o'clock"),
              ElementsAre("Hello", " world", "!", " It", "'s", " 1234", " o", "'", "clock"));
  EXPECT_THAT(pieces(SplitRule::kGpt2, "a  b\n\n c \n"),
              ElementsAre("a", " ", " b", "\n\n", " c", " \n"));
  EXPECT_THAT(pieces(SplitRule::kGpt2, "we'LL they'll"),
              ElementsAre("we", "'", "LL", " they", "'ll"));
  // Number forms are numbers, a combining accent is neither letter nor number.
  EXPECT_THAT(pieces(SplitRule::kGpt2, "e\u0301 \u00bd3\u00e9"),
              ElementsAre("e", "\u0301", " \u00bd3", "\u00e9"));
  EXPECT_THAT(pieces(SplitRule::kGpt2, "\u4e2d\u6587\u3002\U0001f600ok"),
              ElementsAre("\u4e2d\u6587", "\u3002\U0001f600", "ok"));
}

TEST(Split, AsLlama3) {
  EXPECT_THAT(pieces(SplitRule::kLlama3, "Hello world! It'S 12345"),
              ElementsAre("Hello", " world", "!", " It", "'S", " ", "123", "45"));
  EXPECT_THAT(pieces(SplitRule::kLlama3, "(a\tb)\n\n  x \n \n y"),
              ElementsAre("(a", "\tb", ")\n\n", " ", " x", " \n \n", " y"));
  EXPECT_THAT(pieces(SplitRule::kQwen2, "a 12"), ElementsAre("a", " ", "1", "2"));
}

TEST(Split, AsWords) {
  EXPECT_THAT(pieces(SplitRule::kWords, "one two  three\nfour\u2581 five"),
              ElementsAre("one", " two", "  three\nfour", "\u2581 five"));
}

TEST(Split, KnowsItsExpressions) {
  EXPECT_EQ(split_rule_of(
                R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"),
            SplitRule::kGpt2);
  EXPECT_EQ(split_rule_of(R"(\p{L}+)"), std::nullopt);
}

// Text of the characters that rules treat apart.
rc::Gen<std::string> any_text() {
  return rc::gen::map(
      rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(std::vector<std::string>{
          "a", "s", "ll", "'", "1", " ", " ", "\n", "\r", "\t", "!", "\u00e9", "\u0301", "\u3000",
          "\u4e2d", "\U0001f600", "\u2581", "\x80"})),
      [](const std::vector<std::string>& parts) {
        std::string text;
        for (const std::string& part : parts) text += part;
        return text;
      });
}

RC_GTEST_PROP(Split, NothingBeyondWhatWasSeenChangesAPiece, ()) {
  const SplitRule rule =
      *rc::gen::element(SplitRule::kGpt2, SplitRule::kLlama3, SplitRule::kQwen2, SplitRule::kWords);
  const std::string text = *any_text();
  const std::string other = *any_text();
  for (std::size_t at = 0; at < text.size();) {
    const Piece piece = next_piece(rule, text, at);
    RC_ASSERT(piece.end > at);
    RC_ASSERT(piece.end <= text.size());
    RC_ASSERT(piece.seen >= piece.end);
    if (piece.seen <= text.size() && character_at(text, at).code >= 0x20) {
      const std::string changed = text.substr(0, piece.seen) + other;
      // A broken byte at the cut may become part of a character.
      if (other.empty() || other[0] != '\x80')
        RC_ASSERT(next_piece(rule, changed, at).end == piece.end);
    }
    at = piece.end;
  }
}

TEST(Unicode, KnowsClassesOfCharacters) {
  using enum CharacterKind;
  EXPECT_EQ(kind_of('a'), kLetter);
  EXPECT_EQ(kind_of('7'), kNumber);
  EXPECT_EQ(kind_of('_'), kOther);
  EXPECT_EQ(kind_of(0x1C), kOther);  // no White_Space, though Python's isspace() says so
  EXPECT_EQ(kind_of(0x85), kSpace);
  EXPECT_EQ(kind_of(0x180E), kOther);   // white space until Unicode 6.3
  EXPECT_EQ(kind_of(0x2167), kNumber);  // Roman numeral eight
  EXPECT_EQ(kind_of(0x4E2D), kLetter);
  EXPECT_EQ(kind_of(0x3007), kNumber);   // ideographic zero
  EXPECT_EQ(kind_of(0x1D7D8), kNumber);  // a mathematical digit
  EXPECT_EQ(kind_of(0x10FFFF), kOther);
  const auto count = [](CharacterKind kind) {
    int num = 0;
    for (std::uint32_t code = 0; code < 0x110000; ++code) num += kind_of(code) == kind;
    return num;
  };
  // Unicode 14.0: 131,756 code points of category L*, 1,791 of N*; 25 are White_Space.
  EXPECT_EQ(count(kLetter), 131756);
  EXPECT_EQ(count(kNumber), 1791);
  EXPECT_EQ(count(kSpace), 25);
}

RC_GTEST_PROP(Unicode, WritesWhatItReads, ()) {
  const auto code = *rc::gen::suchThat(rc::gen::inRange<std::uint32_t>(0, 0x110000),
                                       [](std::uint32_t c) { return c < 0xD800 || c >= 0xE000; });
  std::string text = "x";
  append_utf8(text, code);
  const Character c = character_at(text, 1);
  RC_ASSERT(c.code == code);
  RC_ASSERT(c.num_bytes == text.size() - 1);
  RC_ASSERT(character_at(text.substr(0, text.size() - 1) + "\n", 1).num_bytes == 1U);
}

}  // namespace
}  // namespace nereus::data::split_test
