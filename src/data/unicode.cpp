#include "data/unicode.hpp"

#include <algorithm>
#include <array>

namespace nereus::data {

namespace {

bool is_in(std::span<const CodeRange> ranges, std::uint32_t code) {
  const auto after = std::upper_bound(
      ranges.begin(), ranges.end(), code,
      [](std::uint32_t wanted, const CodeRange& range) { return wanted < range.first; });
  return after != ranges.begin() && code <= (after - 1)->last;
}

bool is_space(std::uint32_t code) {
  return (code >= 0x9 && code <= 0xD) || code == 0x20 || code == 0x85 || code == 0xA0 ||
         code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
         code == 0x202F || code == 0x205F || code == 0x3000;
}

CharacterKind look_up(std::uint32_t code) {
  if (is_space(code)) return CharacterKind::kSpace;
  if (is_in(letter_ranges(), code)) return CharacterKind::kLetter;
  if (is_in(number_ranges(), code)) return CharacterKind::kNumber;
  return CharacterKind::kOther;
}

constexpr std::uint32_t kNumTabulated = 0x3000;  // most scripts with an alphabet

}  // namespace

CharacterKind kind_of(std::uint32_t code) {
  static const auto table = [] {
    std::array<CharacterKind, kNumTabulated> kinds{};
    for (std::uint32_t i = 0; i < kNumTabulated; ++i) kinds[i] = look_up(i);
    return kinds;
  }();
  return code < kNumTabulated ? table[code] : look_up(code);
}

Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return static_cast<unsigned char>(text[at + i]);
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1, kind_of(first)};
  const std::uint32_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  const Character broken{first, 1, CharacterKind::kOther};
  if (first < 0xC2 || first > 0xF4 || text.size() - at < length) return broken;
  std::uint32_t code = first & (0xFFu >> (length + 1));
  for (std::uint32_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return broken;
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return broken;
  return {code, length, kind_of(code)};
}

void append_utf8(std::string& text, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | code >> 6);
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
  }
  put(0x80 | (code & 0x3F));
}

}  // namespace nereus::data
