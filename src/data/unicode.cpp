#include "data/unicode.hpp"

#include <algorithm>
#include <array>

#include "base/utf8.hpp"

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
  static const auto kTable = [] {
    std::array<CharacterKind, kNumTabulated> kinds{};
    for (std::uint32_t i = 0; i < kNumTabulated; ++i) kinds[i] = look_up(i);
    return kinds;
  }();
  return code < kNumTabulated ? kTable[code] : look_up(code);
}

Character character_at(std::string_view text, std::size_t at) {
  const Utf8Character found = decode_utf8(text.substr(at));
  if (found.length == 0) return {static_cast<unsigned char>(text[at]), 1, CharacterKind::kOther};
  return {found.code, static_cast<std::uint32_t>(found.length), kind_of(found.code)};
}

}  // namespace nereus::data
