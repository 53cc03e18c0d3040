#include "base/error.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "base/utf8.hpp"

namespace nereus {

namespace {
std::string join(const std::vector<Error>& list) {
  std::string text;
  for (const Error& error : list) {
    if (!text.empty()) text += '\n';
    text += to_text(error);
  }
  return text;
}

// A caret below the column of `line_text`. Tabs are kept, so that the caret is aligned for any tab
// width.
std::string caret_line(const Where& where) {
  std::string line;
  int column = where.text_column;
  for (std::size_t i = 0; i < where.line_text.size() && column < where.column; ++i) {
    const char c = where.line_text[i];
    if (continues_utf8(c)) continue;
    line += c == '\t' ? '\t' : ' ';
    ++column;
  }
  return line + '^';
}
}  // namespace

Errors::Errors(std::vector<Error> list) : std::runtime_error(join(list)), list_(std::move(list)) {}

void ErrorList::add(std::string code, std::string message, Where where, std::string hint) {
  list_.push_back(
      {std::move(code), std::move(message), std::move(where), std::move(hint), ErrorKind::kInput});
}

void ErrorList::throw_if_any() const {
  if (!list_.empty()) throw Errors(list_);
}

void throw_input_error(std::string code, std::string message, Where where, std::string hint) {
  throw Errors({{std::move(code), std::move(message), std::move(where), std::move(hint),
                 ErrorKind::kInput}});
}

void throw_environment_error(std::string code, std::string message, std::string hint) {
  throw Errors(
      {{std::move(code), std::move(message), {}, std::move(hint), ErrorKind::kEnvironment}});
}

std::string to_text(const Error& error) {
  std::string text = fmt::format("error[{}]: {}", error.code, error.message);
  const Where& where = error.where;
  if (!where.file.empty()) {
    text += fmt::format("\n  --> {}", where.file);
    if (where.line > 0) text += fmt::format(":{}", where.line);
    if (where.line > 0 && where.column > 0) text += fmt::format(":{}", where.column);
    if (where.line > 0 && !where.line_text.empty()) {
      text += fmt::format("\n{:>5} | {}", where.line, where.line_text);
      if (where.column > 0) text += "\n      | " + caret_line(where);
    }
  }
  if (!error.hint.empty()) text += fmt::format("\n  hint: {}", error.hint);
  return text;
}

void check_failed(const char* expression, const char* file, int line, const std::string& message) {
  std::fprintf(stderr, "nereus: bug: %s:%d: %s: %s\nPlease report this with the command you ran.\n",
               file, line, expression, message.c_str());
  std::abort();
}

}  // namespace nereus
