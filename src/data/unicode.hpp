// The classes of characters in regular expressions of tokenizers: letter (\p{L}), number (\p{N}),
// white space (\s), or none of these.
//
//   const Character c = character_at(text, i);      // c.code, c.num_bytes, c.kind
//
// White space is Unicode's property White_Space. Letters and numbers are in tables that
// scripts/unicode_tables writes, with the version of Unicode.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace nereus::data {

enum class CharacterKind : std::uint8_t { kOther, kLetter, kNumber, kSpace };

struct Character {
  std::uint32_t code = 0;
  std::uint32_t num_bytes = 1;
  CharacterKind kind = CharacterKind::kOther;
};

CharacterKind kind_of(std::uint32_t code);

// The character that starts at this byte of the text. A byte that starts no character counts as a
// separate character of kind kOther.
Character character_at(std::string_view text, std::size_t at);

struct CodeRange {
  std::uint32_t first;
  std::uint32_t last;
};
std::span<const CodeRange> letter_ranges();
std::span<const CodeRange> number_ranges();

}  // namespace nereus::data
