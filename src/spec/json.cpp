// A JSON reader (RFC 8259) by recursive descent. It is our implementation, because every value must
// know its line and column, which common libraries keep only for errors, and because a plan for
// 16,384 ranks must be read in milliseconds.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/decimal.hpp"
#include "base/utf8.hpp"
#include "spec/unique_keys.hpp"
#include "spec/value.hpp"

namespace nereus::spec {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class JsonParser {
 public:
  explicit JsonParser(SourcePtr source)
      : source_(std::move(source)),
        at_(source_->text.data()),
        end_(at_ + source_->text.size()),
        line_begin_(at_) {}

  Value parse() {
    Value root;
    skip_space();
    if (at_ == end_) fail("the file is empty");
    value(root, 0);
    skip_space();
    if (at_ != end_) fail("text after the end of the value");
    return root;
  }

 private:
  void value(Value& out, int depth) {
    if (at_ == end_) fail("the text ends where a value is expected");
    if (depth >= kMostNesting && (*at_ == '{' || *at_ == '['))
      fail(fmt::format("nested deeper than {} levels", kMostNesting));
    out.line = line_;
    out.column = column();
    out.source = source_;
    switch (*at_) {
      case '{':
        return table(out.data.emplace<Table>(), depth);
      case '[':
        return array(out.data.emplace<Array>(), depth);
      case '"':
        return string(out.data.emplace<std::string>());
      case 't':
        return word("true"), void(out.data = true);
      case 'f':
        return word("false"), void(out.data = false);
      case 'n':
        return word("null");
      default:
        return number(out);
    }
  }

  void array(Array& out, int depth) {
    ++at_;
    skip_space();
    if (take(']')) return;
    for (;;) {
      value(out.emplace_back(), depth + 1);
      skip_space();
      if (take(']')) return;
      if (!take(',')) fail("expected ',' or ']' in an array");
      skip_space();
      if (peek(']')) fail("a comma before ']'");
    }
  }

  void table(Table& out, int depth) {
    UniqueKeys keys;
    ++at_;
    skip_space();
    if (take('}')) return;
    for (;;) {
      if (!peek('"')) fail("expected a key in double quotes");
      const int key_line = line_, key_column = column();
      string(out.emplace_back().first);
      if (!keys.last_is_new(out))
        fail_at(fmt::format("the key \"{}\" is given twice", out.back().first), key_line,
                key_column);
      skip_space();
      if (!take(':')) fail("expected ':' after a key");
      skip_space();
      value(out.back().second, depth + 1);
      skip_space();
      if (take('}')) return;
      if (!take(',')) fail("expected ',' or '}' in an object");
      skip_space();
      if (peek('}')) fail("a comma before '}'");
    }
  }

  void string(std::string& out) {
    const int opening_line = line_, opening_column = column();
    const char* run = ++at_;  // start of the characters that need no change
    for (;; ++at_) {
      if (at_ == end_ || *at_ == '\n')
        fail_at("a string is never closed", opening_line, opening_column);
      const char c = *at_;
      if (c == '"') break;
      if (continues_utf8(c)) ++line_begin_;  // columns count characters, not bytes
      if (c == '\t' || c == '\r') fail("a control character in a string", "write it as \\t or \\r");
      if (c != '\\') continue;
      out.append(run, at_);
      escape(out);
      run = at_ + 1;
    }
    out.append(run, at_++);
  }

  // Decodes the escape at the backslash and stops at its last character.
  void escape(std::string& out) {
    if (++at_ == end_) return --at_, void();  // the caller's loop reports the open string
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (const std::size_t i = kNames.find(*at_); i != kNames.npos) {
      out += kMeanings[i];
      return;
    }
    if (*at_ != 'u') fail("an unknown escape in a string", "a backslash itself is written \\\\");
    std::uint32_t code = hex4();
    if (code >= 0xD800 && code < 0xDC00 && end_ - at_ > 2 && at_[1] == '\\' && at_[2] == 'u') {
      at_ += 2;
      const std::uint32_t low = hex4();
      if (low < 0xDC00 || low >= 0xE000) fail("a surrogate without its pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xD800 && code < 0xE000) {
      fail("a surrogate without its pair");
    }
    append_utf8(out, code);
  }

  // The four digits after the 'u' at at_; stops at the last of them.
  std::uint32_t hex4() {
    std::uint32_t code = 0;
    const char* const first = at_ + 1;
    if (end_ - first < 4 || std::from_chars(first, first + 4, code, 16).ptr != first + 4)
      fail("\\u needs four hexadecimal digits");
    at_ += 4;
    return code;
  }

  void number(Value& out) {
    const char* const begin = at_;
    bool is_integer = true;
    if (peek('-')) ++at_;
    if (peek('0'))
      ++at_;
    else if (!digits())
      at_ = begin, fail("expected a value", unquoted_hint());
    if (peek('.')) {
      is_integer = false;
      ++at_;
      if (!digits()) fail("expected a digit after the decimal point");
    }
    if (peek('e') || peek('E')) {
      is_integer = false;
      ++at_;
      if (peek('+') || peek('-')) ++at_;
      if (!digits()) fail("expected a digit in the exponent");
    }
    if (at_ < end_ && (is_digit(*at_) || *at_ == '.' || is_letter(*at_)))
      fail("a malformed number", unquoted_hint());
    std::int64_t integer = 0;
    if (is_integer && std::from_chars(begin, at_, integer).ec == std::errc()) {
      out.data = integer;
      return;
    }
    double real = 0;  // also an integer beyond 64 bits
    if (read_decimal(begin, at_, real).ec != std::errc() && !is_tiny(begin, at_)) {
      at_ = begin;
      fail("a number beyond the range of a double");
    }
    out.data = real;
  }

  // from_chars says "out of range" for 1e-999 as well, which is just 0.
  static bool is_tiny(const char* begin, const char* end) {
    return std::abs(std::strtod(std::string(begin, end).c_str(), nullptr)) < 1;
  }

  bool digits() {
    const char* const begin = at_;
    while (at_ < end_ && is_digit(*at_)) ++at_;
    return at_ > begin;
  }

  void word(std::string_view text) {
    if (static_cast<std::size_t>(end_ - at_) < text.size() ||
        std::string_view(at_, text.size()) != text)
      fail("expected a value", unquoted_hint());
    at_ += text.size();
    if (at_ < end_ && (is_letter(*at_) || is_digit(*at_)))
      at_ -= text.size(), fail("expected a value", unquoted_hint());
  }

  static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }

  void skip_space() {
    for (; at_ < end_; ++at_) {
      if (*at_ == '\n')
        ++line_, line_begin_ = at_ + 1;
      else if (*at_ != ' ' && *at_ != '\t' && *at_ != '\r')
        return;
    }
  }

  bool peek(char c) const { return at_ < end_ && *at_ == c; }
  bool take(char c) { return peek(c) ? (++at_, true) : false; }
  int column() const { return static_cast<int>(at_ - line_begin_) + 1; }

  std::string unquoted_hint() const {
    const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
    if (rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with("#"))
      return "JSON has no comments";
    if (rest.starts_with("'")) return "strings are written in double quotes";
    if (rest.starts_with("NaN") || rest.starts_with("Inf") || rest.starts_with("-Inf"))
      return "JSON has no NaN and no infinity";
    return {};
  }

  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}) {
    if (at_ == end_)
      fail_at(message + "; the text ends here", line_, column(), "is the file complete?");
    fail_at(message, line_, column(), hint);
  }

  [[noreturn]] void fail_at(const std::string& message, int line, int column,
                            const std::string& hint = {}) {
    throw_input_error("spec.syntax", message, where_in(*source_, line, column), hint);
  }

  const SourcePtr source_;
  const char* at_;
  const char* const end_;
  const char*
      line_begin_;  // moved along with multi-byte characters, so that columns count characters
  int line_ = 1;
};

}  // namespace

Value parse_json(std::string_view text, const std::string& file) {
  return JsonParser(make_source(text, file)).parse();
}

}  // namespace nereus::spec
