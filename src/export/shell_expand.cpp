// Expansions of a shell: $NAME, ${NAME:-default}, "${ARRAY[@]}", $((2 * N)), $(command).
#include "base/error.hpp"
#include "export/shell_words.hpp"

namespace nereus::exporting {

namespace {

constexpr int kMostExpansions = 40;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

// $(..), `..`: what it prints is known at run time only.
void ShellReader::substitution(Builder& builder, std::size_t from) {
  const int begin = line_;
  if (peek() == '`') {
    ++at_;
    while (!at_end() && peek() != '`') skip_one();
    if (at_end()) budget_.fail(begin, "a ` that begins here never ends");
    ++at_;
  } else {
    int open = 0;
    char quote = 0;
    while (!at_end()) {
      const char c = peek();
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == '(') {
        ++open;
      } else if (c == ')' && --open == 0) {
        break;
      }
      skip_one();
    }
    if (at_end()) budget_.fail(begin, "a ( that begins here never ends");
    ++at_;
  }
  builder.add_unknown(text_.substr(from, at_ - from));
}

void ShellReader::dollar(Builder& builder, bool in_quotes, int depth) {
  if (depth > kMostExpansions) budget_.fail(line_, "expansions nest too deep");
  const std::size_t from = at_;
  if (peek() == '`') return substitution(builder, from);
  if (looking_at("$((")) {
    const std::size_t end = text_.find("))", at_);
    long long result = 0;
    if (end != std::string_view::npos &&
        arithmetic(text_.substr(at_ + 3, end - at_ - 3), variables_, result)) {
      builder.add(std::to_string(result));
      at_ = end + 2;
      return;
    }
  }
  ++at_;
  if (peek() == '(') return substitution(builder, from);
  if (peek() == '{') return braced(builder, in_quotes, depth);
  std::size_t length = 0;
  if (is_name_start(peek())) {
    while (is_name(peek(length))) ++length;
  } else if (std::string_view("0123456789@*#?!$-").find(peek()) != std::string_view::npos &&
             !at_end()) {
    length = 1;
  }
  if (length == 0) return builder.add('$');
  const std::string_view name = text_.substr(at_, length);
  at_ += length;
  if (name == "@" || name == "*") return;  // as if it were called without arguments
  const auto found = variables_.find(name);
  if (found == variables_.end()) {
    builder.add_unknown(text_.substr(from, at_ - from));
    return;
  }
  const std::vector<Word> first(found->second.begin(),
                                found->second.begin() + (found->second.empty() ? 0 : 1));
  put_variable(builder, first, in_quotes, false, line_);
}

void ShellReader::put_variable(Builder& builder, const std::vector<Word>& value, bool in_quotes,
                               bool each, int line) {
  bool first = true;
  for (const Word& word : value) {
    if (!first) {
      if (each || !in_quotes) {
        builder.close();
        builder.current.line = line;
      } else {
        builder.add(' ');
      }
    }
    first = false;
    budget_.spend(word.text.size() + 1, line);
    if (each) builder.current.line = word.line;
    if (in_quotes) {
      builder.add(word.text);
      continue;
    }
    bool unknown = false;  // a command's output is not split at the blanks of the command
    for (char c : word.text) {
      if (c == kUnknownBegin) unknown = true;
      if (c == kUnknownEnd) unknown = false;
      if ((is_blank(c) || c == '\n') && !unknown) {
        builder.close();
      } else {
        if (!builder.open) builder.current.line = word.line;
        builder.add(c);
      }
    }
  }
}

// ${NAME}, ${NAME[@]}, ${NAME:-default}, ${#NAME[@]} and the rest, which is known at run time only.
void ShellReader::braced(Builder& builder, bool in_quotes, int depth) {
  const std::size_t from = at_ - 1;
  const int begin = line_;
  ++at_;
  const bool count = peek() == '#' && is_name_start(peek(1));
  if (count) ++at_;
  std::size_t length = 0;
  while (is_name(peek(length)) || (length == 0 && (peek() == '@' || peek() == '*'))) ++length;
  const std::string_view name = text_.substr(at_, length);
  at_ += length;
  bool each = false;
  bool all = false;
  std::string index;
  if (peek() == '[') {
    ++at_;
    while (!at_end() && peek() != ']' && index.size() < 64) index += text_[at_++];
    if (peek() == ']') ++at_;
    each = index == "@";
    all = each || index == "*";
  }
  std::vector<Word> value;
  const auto found = variables_.find(name);
  bool set = found != variables_.end();
  if (set) {
    if (all) {
      value = found->second;
    } else {
      std::size_t which = 0;
      for (char c : index) {
        if (!is_digit(c))
          which = found->second.size();
        else
          which = which * 10 + static_cast<std::size_t>(c - '0');
      }
      if (which < found->second.size()) value = {found->second[which]};
    }
  }
  bool decided = true;
  bool run_time = false;
  if (peek() == '}' && !count) {
    decided = set;
  } else if (count) {
    decided = set && peek() == '}';
    if (decided)
      value = {Word{std::to_string(all                     ? found->second.size()
                                   : found->second.empty() ? 0
                                                           : found->second[0].text.size()),
                    begin, true}};
  } else {
    const bool colon = peek() == ':';
    const char op = peek(colon ? 1 : 0);
    const bool empty = value.empty() || (colon && value.size() == 1 && value[0].text.empty());
    if (op == '-' || op == '=' || op == '+') {
      at_ += colon ? 2 : 1;
      Builder other;
      other.current.line = line_;
      other.split = false;
      word_into(other, "}", depth + 1);
      other.open = true;
      other.close();
      if (op == '+') {
        value = set && !empty ? other.done : std::vector<Word>{};
        set = true;
      } else if (!set || empty) {
        value = other.done;
        set = true;
      }
    } else {
      run_time = true;  // ${A%.*}, ${A/x/y}, ${A:0:3}
    }
  }
  while (!at_end() && peek() != '}') skip_one();
  if (at_end()) budget_.fail(begin, "a ${ that begins here never ends");
  ++at_;
  if (!decided || run_time || (!set && !count)) {
    builder.add_unknown(text_.substr(from, at_ - from));
    return;
  }
  put_variable(builder, value, in_quotes, each, begin);
}

}  // namespace nereus::exporting
