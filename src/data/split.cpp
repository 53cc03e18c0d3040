#include "data/split.hpp"

#include <algorithm>

#include "data/unicode.hpp"

namespace nereus::data {

namespace {

using enum CharacterKind;

constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::uint32_t kWordMark = 0x2581;

bool is_line_end(std::uint32_t code) { return code == '\r' || code == '\n'; }

class Scanner {
 public:
  Scanner(std::string_view text, std::size_t at) : text_(text), at_(at), seen_(at) {}

  Piece gpt2() {
    if (const std::size_t end = contraction(false); end > 0) return piece(end);
    const Character first = look(at_);
    const std::size_t body = first.code == ' ' ? at_ + 1 : at_;
    if (const auto kind = kind_at(body); kind && *kind != kSpace)
      return piece(run(body, *kind, kNoLimit));
    return white_space();
  }

  Piece llama3(std::size_t most_digits) {
    if (const std::size_t end = contraction(true); end > 0) return piece(end);
    const Character first = look(at_);
    const std::size_t second = at_ + first.num_bytes;
    const bool may_lead =
        first.kind != kLetter && first.kind != kNumber && !is_line_end(first.code);
    if (may_lead && kind_at(second) == kLetter) return piece(run(second, kLetter, kNoLimit));
    if (first.kind == kLetter) return piece(run(at_, kLetter, kNoLimit));
    if (first.kind == kNumber) return piece(run(at_, kNumber, most_digits));
    const std::size_t body = first.code == ' ' ? second : at_;
    if (kind_at(body) == kOther) {
      std::size_t end = run(body, kOther, kNoLimit);
      while (has(end) && is_line_end(look(end).code)) ++end;
      return piece(end);
    }
    return white_space(true);
  }

  Piece words() {
    std::size_t end = at_;
    while (has(end) && is_mark(look(end))) end += look(end).num_bytes;
    while (has(end) && !is_mark(look(end))) end += look(end).num_bytes;
    return piece(end);
  }

 private:
  static constexpr std::size_t kNoLimit = ~std::size_t{0};

  static bool is_mark(const Character& c) { return c.code == ' ' || c.code == kWordMark; }

  bool has(std::size_t at) {
    if (at < text_.size()) return true;
    seen_ = text_.size() + 1;
    return false;
  }

  Character look(std::size_t at) {
    const Character c = character_at(text_, at);
    seen_ = std::max(seen_, at + c.num_bytes);
    return c;
  }

  std::optional<CharacterKind> kind_at(std::size_t at) {
    if (!has(at)) return {};
    return look(at).kind;
  }

  Piece piece(std::size_t end) const { return {end, seen_}; }

  // End of the run of a kind from `at` on, of at most so many characters.
  std::size_t run(std::size_t at, CharacterKind kind, std::size_t most) {
    for (; most > 0 && has(at); --most) {
      const Character c = look(at);
      if (c.kind != kind) break;
      at += c.num_bytes;
    }
    return at;
  }

  // End of 's, 't, 're, 've, 'm, 'll or 'd; 0 if there is none.
  std::size_t contraction(bool any_case) {
    if (look(at_).code != '\'' || !has(at_ + 1)) return 0;
    const auto folded = [&](const Character& c) -> std::uint32_t {
      if (any_case && c.code == 0x17F) return 's';  // the long s
      return any_case && c.code >= 'A' && c.code <= 'Z' ? c.code + 32 : c.code;
    };
    const Character first = look(at_ + 1);
    const std::size_t next = at_ + 1 + first.num_bytes;
    const std::uint32_t letter = folded(first);
    if (letter == 's' || letter == 't' || letter == 'm' || letter == 'd') return next;
    if ((letter != 'r' && letter != 'v' && letter != 'l') || !has(next)) return 0;
    return folded(look(next)) == (letter == 'l' ? 'l' : 'e') ? next + 1 : 0;
  }

  // The alternatives for white space; up_to_line_end: \s*[\r\n]+ comes first.
  Piece white_space(bool up_to_line_end = false) {
    std::size_t end = at_, last = at_, line_end = 0;
    while (has(end)) {
      const Character c = look(end);
      if (c.kind != kSpace) break;
      last = end;
      end += c.num_bytes;
      if (is_line_end(c.code)) line_end = end;
    }
    if (up_to_line_end && line_end > 0) return piece(line_end);
    // All of it at the end of the text; otherwise without the last character, unless it is the only
    // one.
    return piece(end == text_.size() || last == at_ ? end : last);
  }

  std::string_view text_;
  std::size_t at_;
  std::size_t seen_;
};

}  // namespace

std::optional<SplitRule> split_rule_of(std::string_view expression) {
  if (expression == kGpt2) return SplitRule::kGpt2;
  if (expression == kLlama3) return SplitRule::kLlama3;
  if (expression == kQwen2) return SplitRule::kQwen2;
  return {};
}

Piece next_piece(SplitRule rule, std::string_view text, std::size_t at) {
  Scanner scanner(text, at);
  switch (rule) {
    case SplitRule::kGpt2:
      return scanner.gpt2();
    case SplitRule::kLlama3:
      return scanner.llama3(3);
    case SplitRule::kQwen2:
      return scanner.llama3(1);
    case SplitRule::kWords:
      break;
  }
  return scanner.words();
}

}  // namespace nereus::data
