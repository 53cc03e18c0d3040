#include "export/shell_words.hpp"

#include <fmt/format.h>

#include <cctype>

#include "base/error.hpp"

namespace nereus::exporting {

namespace {

constexpr int kMostNesting = 40;

bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace

void Budget::spend(std::size_t characters, int line) {
  if (characters > left_) fail(line, "the script expands to more than 4 MB of words");
  left_ -= characters;
}

void Budget::fail(int line, const std::string& message) const {
  throw_input_error("import.script", message, spec::where_in(*source_, line, 1));
}

// Fields of one word while it is read: an expansion outside quotes may begin new ones.
struct ShellReader::Builder {
  std::vector<Word> done;
  Word current;
  bool open = false;
  bool split = true;  // outside quotes expansions are split at blanks

  void add(char c) {
    current.text += c;
    open = true;
  }
  void add(std::string_view text) {
    current.text += text;
    open = true;
  }
  void close() {
    if (!open) return;
    done.push_back(std::move(current));
    const int line = done.back().line;
    current = Word{{}, line, true};
    open = false;
  }
};

void ShellReader::skip_one() {
  if (peek() == '\\' && peek(1) == '\n') ++at_;
  if (peek() == '\n') ++line_;
  if (!at_end()) ++at_;
}

std::string ShellReader::comment() {
  ++at_;  // the #
  const std::size_t begin = at_;
  while (!at_end() && peek() != '\n') ++at_;
  return std::string(text_.substr(begin, at_ - begin));
}

void ShellReader::next_separator() {
  const bool line_end = peek() == '\n';
  skip_one();
  if (!line_end) return;
  for (const std::string& delimiter : here_documents_) {
    while (!at_end()) {
      const std::size_t end = text_.find('\n', at_);
      std::string_view row = text_.substr(at_, end == std::string_view::npos ? end : end - at_);
      at_ = end == std::string_view::npos ? text_.size() : end + 1;
      ++line_;
      while (!row.empty() && row.front() == '\t') row.remove_prefix(1);
      if (row == delimiter) break;
    }
  }
  here_documents_.clear();
}

bool ShellReader::skip_blank() {
  if (is_blank(peek()) || looking_at("\\\n")) {
    skip_one();
    while (is_blank(peek()) || looking_at("\\\n")) skip_one();
    if (peek() == '#') comment();
    return true;
  }
  return false;
}

bool ShellReader::redirection() {
  std::size_t digits = 0;
  while (std::isdigit(static_cast<unsigned char>(peek(digits)))) ++digits;
  const char c = peek(digits);
  if (c != '<' && c != '>') return false;
  at_ += digits;
  const bool here = looking_at("<<") && !looking_at("<<<");
  while (peek() == '<' || peek() == '>' || peek() == '&' || peek() == '|') ++at_;
  if (here && peek() == '-') ++at_;
  while (is_blank(peek())) ++at_;
  if (peek() == '(') {
    Builder ignored;
    substitution(ignored, at_);
    return true;
  }
  if (at_command_end(false)) return true;
  const std::vector<Word> target = words();
  if (here && !target.empty()) here_documents_.push_back(target.front().text);
  return true;
}

bool ShellReader::at_command_end(bool inside_brackets) const {
  const char c = peek();
  if (at_end() || c == '\n' || c == ';') return true;
  if (inside_brackets) return false;
  return c == '&' || c == '|' || c == ')' || c == '(';
}

std::string ShellReader::command_end() {
  if (looking_at("&&") || looking_at("||")) {
    at_ += 2;
    return text_[at_ - 1] == '&' ? "&&" : "||";
  }
  if (at_end() || peek() == '\n') return ";";
  const char c = peek();
  ++at_;
  if (c == '(' && peek() == ')') ++at_;  // name(): the body follows as if it were called here
  return ";";
}

bool ShellReader::assignment_name(std::string& name, bool& append) {
  if (!is_name_start(peek())) return false;
  std::size_t length = 0;
  while (is_name(peek(length))) ++length;
  append = peek(length) == '+' && peek(length + 1) == '=';
  if (!append && (peek(length) != '=' || peek(length + 1) == '=')) return false;
  name = std::string(text_.substr(at_, length));
  at_ += length + (append ? 2 : 1);
  was_array_ = peek() == '(';
  return true;
}

std::vector<Word> ShellReader::array() {
  const int begin = line_;
  ++at_;
  std::vector<Word> list;
  while (true) {
    if (at_end()) budget_.fail(begin, "an array that begins here has no closing )");
    const char c = peek();
    if (c == ')') {
      ++at_;
      return list;
    }
    if (c == '#') {
      comment();
    } else if (c == '\n' || is_blank(c) || looking_at("\\\n")) {
      skip_one();
    } else if (c == '(' || c == ';' || c == '&' || c == '|' || c == '<' || c == '>') {
      skip_one();  // no array has these; go on with what can be read
    } else {
      for (Word& word : words()) list.push_back(std::move(word));
    }
  }
}

Word ShellReader::value() {
  Builder builder;
  builder.current.line = line_;
  builder.split = false;
  word_into(builder, " \t\r\n;&|()<>", 0);
  builder.open = true;
  builder.close();
  return builder.done.front();
}

std::vector<Word> ShellReader::words() {
  Builder builder;
  builder.current.line = line_;
  const std::size_t before = at_;
  word_into(builder, " \t\r\n;&|()<>", 0);
  builder.close();
  if (at_ == before) skip_one();  // a character that begins no word
  return builder.done;
}

void ShellReader::word_into(Builder& builder, std::string_view stops, int depth) {
  while (!at_end()) {
    const char c = peek();
    if (stops.find(c) != std::string_view::npos) return;
    if (c == '\\') {
      if (peek(1) == '\n') {
        // The word ends at a continued line only if a blank follows; joined otherwise.
        skip_one();
        continue;
      }
      ++at_;
      if (!at_end()) builder.add(peek());
      if (peek() == '\n') ++line_;
      ++at_;
    } else if (c == '\'') {
      const std::size_t end = text_.find('\'', at_ + 1);
      if (end == std::string_view::npos) budget_.fail(line_, "a ' that begins here never ends");
      const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
      for (char q : inside)
        if (q == '\n') ++line_;
      builder.add(inside);
      at_ = end + 1;
    } else if (c == '"') {
      quoted(builder, depth);
    } else if (c == '$' || c == '`') {
      dollar(builder, !builder.split, depth);
    } else {
      if (c == '\n') ++line_;
      builder.add(c);
      ++at_;
    }
  }
  if (at_ > text_.size()) at_ = text_.size();
}

void ShellReader::quoted(Builder& builder, int depth) {
  const int begin = line_;
  ++at_;
  if (!looking_at("$@\"")) builder.open = true;
  while (true) {
    if (at_end()) budget_.fail(begin, "a \" that begins here never ends");
    const char c = peek();
    if (c == '"') {
      ++at_;
      return;
    }
    if (c == '\\' && (peek(1) == '"' || peek(1) == '$' || peek(1) == '`' || peek(1) == '\\')) {
      builder.add(peek(1));
      at_ += 2;
    } else if (c == '\\' && peek(1) == '\n') {
      skip_one();
    } else if (c == '$' || c == '`') {
      dollar(builder, true, depth);
    } else {
      if (c == '\n') ++line_;
      builder.add(c);
      ++at_;
    }
  }
}

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
  builder.add(text_.substr(from, at_ - from));
  builder.current.known = false;
}

void ShellReader::dollar(Builder& builder, bool in_quotes, int depth) {
  if (depth > kMostNesting) budget_.fail(line_, "expansions nest too deep");
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
    builder.add(text_.substr(from, at_ - from));
    builder.current.known = false;
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
      builder.current.known = builder.current.known && word.known;
      continue;
    }
    for (char c : word.text) {
      if (is_blank(c) || c == '\n') {
        builder.close();
      } else {
        builder.add(c);
        builder.current.known = builder.current.known && word.known;
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
        if (!std::isdigit(static_cast<unsigned char>(c)))
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
    builder.add(text_.substr(from, at_ - from));
    builder.current.known = false;
    return;
  }
  put_variable(builder, value, in_quotes, each, begin);
}

void ShellReader::skip_past_word(std::string_view word) {
  while (!at_end()) {
    if (!is_name(peek())) {
      skip_one();
      continue;
    }
    std::size_t length = 0;
    while (is_name(peek(length))) ++length;
    const bool found = text_.substr(at_, length) == word;
    at_ += length;
    if (found) return;
  }
}

void ShellReader::skip_rest_of_line_before(char stop) {
  while (!at_end() && peek() != '\n' && peek() != stop) ++at_;
}

}  // namespace nereus::exporting
