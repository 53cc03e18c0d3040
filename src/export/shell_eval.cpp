// Arithmetic and tests of a shell, as far as their operands are known.
#include <cctype>
#include <optional>

#include "base/parse_number.hpp"
#include "export/shell_words.hpp"

namespace nereus::exporting {

namespace {

// expression = term { (+|-) term }; term = factor { (*|/|%) factor }; factor = number | name | ( ..
// )
class Arithmetic {
 public:
  Arithmetic(std::string_view text, const Variables& variables)
      : text_(text), variables_(variables) {}

  std::optional<long long> result() {
    const long long value = expression(0);
    skip();
    if (failed_ || at_ != text_.size()) return std::nullopt;
    return value;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  long long expression(int depth) {
    long long value = term(depth);
    for (char c = peek(); (c == '+' || c == '-') && !failed_; c = peek()) {
      ++at_;
      const long long other = term(depth);
      failed_ = failed_ || (c == '+' ? __builtin_add_overflow(value, other, &value)
                                     : __builtin_sub_overflow(value, other, &value));
    }
    return value;
  }

  long long term(int depth) {
    long long value = factor(depth);
    for (char c = peek(); (c == '*' || c == '/' || c == '%') && !failed_; c = peek()) {
      ++at_;
      const long long other = factor(depth);
      if (c == '*') {
        failed_ = failed_ || __builtin_mul_overflow(value, other, &value);
      } else if (other <= 0) {
        failed_ = true;
      } else {
        value = c == '/' ? value / other : value % other;
      }
    }
    return value;
  }

  long long factor(int depth) {
    if (depth > 32) failed_ = true;
    if (failed_) return 0;
    const char c = peek();
    if (c == '(') {
      ++at_;
      const long long value = expression(depth + 1);
      if (peek() != ')') failed_ = true;
      ++at_;
      return value;
    }
    if (c == '$') ++at_;
    const bool braced = c == '$' && peek() == '{';
    if (braced) ++at_;
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (braced && peek() == '}') ++at_;
    if (const auto number = parse_number<long long>(word)) return *number;
    const auto found = variables_.find(word);
    if (found != variables_.end() && found->second.size() == 1)
      if (const auto number = parse_number<long long>(found->second[0].text)) return *number;
    failed_ = true;
    return 0;
  }

  std::string_view text_;
  const Variables& variables_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

Truth truth_of(bool holds) { return holds ? Truth::kTrue : Truth::kFalse; }

// In -z and -n, an environment variable that the script never sets counts as empty: scripts test
// for it in this way.
Truth unary(const std::string& op, const Word& word) {
  if (op != "-z" && op != "-n") return Truth::kUnknown;
  if (!word.known) return Truth::kUnknown;
  return truth_of(word.text.empty() == (op == "-z"));
}

Truth binary(const Word& left, const std::string& op, const Word& right) {
  if (!left.known || !right.known) return Truth::kUnknown;
  if (op == "=" || op == "==") return truth_of(left.text == right.text);
  if (op == "!=") return truth_of(left.text != right.text);
  const auto a = parse_number<long long>(left.text);
  const auto b = parse_number<long long>(right.text);
  if (!a || !b) return Truth::kUnknown;
  if (op == "-eq") return truth_of(*a == *b);
  if (op == "-ne") return truth_of(*a != *b);
  if (op == "-lt") return truth_of(*a < *b);
  if (op == "-le") return truth_of(*a <= *b);
  if (op == "-gt") return truth_of(*a > *b);
  if (op == "-ge") return truth_of(*a >= *b);
  return Truth::kUnknown;
}

}  // namespace

bool arithmetic(std::string_view text, const Variables& variables, long long& result) {
  const std::optional<long long> value = Arithmetic(text, variables).result();
  if (value) result = *value;
  return value.has_value();
}

Truth test_result(const std::vector<Word>& words) {
  if (words.empty()) return Truth::kNoTest;
  const std::string& name = words.front().text;
  std::size_t end = words.size();
  if (name == "[" || name == "[[") {
    if (words.back().text == (name == "[" ? "]" : "]]")) --end;
  } else if (name == "true" || name == "false") {
    return truth_of(name == "true");
  } else if (name != "test") {
    return Truth::kNoTest;
  }
  std::size_t begin = 1;
  const bool negated = begin < end && words[begin].text == "!";
  if (negated) ++begin;
  Truth truth = Truth::kUnknown;
  const std::size_t count = end - begin;
  if (count == 0) truth = Truth::kFalse;
  if (count == 1) truth = unary("-n", words[begin]);
  if (count == 2) truth = unary(words[begin].text, words[begin + 1]);
  if (count == 3) truth = binary(words[begin], words[begin + 1].text, words[begin + 2]);
  if (!negated || truth == Truth::kUnknown) return truth;
  return truth_of(truth == Truth::kFalse);
}

}  // namespace nereus::exporting
