#include "export/shell_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.hpp"

namespace nereus::exporting {

void Budget::spend(std::size_t characters, int line) {
  if (characters > left_) fail(line, "the script expands to more than 4 MB of words");
  left_ -= characters;
}

void Budget::fail(int line, const std::string& message) const {
  throw_input_error("import.script", message, spec::where_in(*source_, line, 1));
}

Word finished(Word word) {
  const auto is_mark = [](char c) { return c == kUnknownBegin || c == kUnknownEnd; };
  if (std::erase_if(word.text, is_mark) > 0) word.known = false;
  return word;
}

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
    if (c == kUnknownBegin) {
      const std::size_t end = std::min(text_.find(kUnknownEnd, at_), text_.size() - 1);
      builder.add(text_.substr(at_, end - at_ + 1));
      at_ = end + 1;
      continue;
    }
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
    if (c == kUnknownBegin) {
      const std::size_t end = std::min(text_.find(kUnknownEnd, at_), text_.size() - 1);
      builder.add(text_.substr(at_, end - at_ + 1));
      at_ = end + 1;
      continue;
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

std::string_view ShellReader::skip_past_word(std::string_view word) {
  const std::size_t begin = at_;
  while (!at_end()) {
    if (!is_name(peek())) {
      skip_one();
      continue;
    }
    std::size_t length = 0;
    while (is_name(peek(length))) ++length;
    const bool found = text_.substr(at_, length) == word;
    at_ += length;
    if (found) break;
  }
  return text_.substr(begin, at_ - begin);
}

void ShellReader::skip_rest_of_line_before(char stop) {
  while (!at_end() && peek() != '\n' && peek() != stop) ++at_;
}

}  // namespace nereus::exporting
