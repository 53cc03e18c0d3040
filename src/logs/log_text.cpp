#include "logs/log_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/parse_number.hpp"

namespace nereus::logs {

namespace {

constexpr std::size_t kLongestBlock = 1'000'000;
constexpr std::size_t kShownLine = 160;

// Printable text: without escape sequences and other control characters, which terminals act on.
std::string plain(std::string_view raw) {
  std::string text;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const auto c = static_cast<unsigned char>(raw[i]);
    if (c == 0x1b) {
      // "ESC [ parameters letter"
      if (i + 1 < raw.size() && raw[i + 1] == '[') {
        i += 2;
        while (i < raw.size() && std::isalpha(static_cast<unsigned char>(raw[i])) == 0) ++i;
      }
      continue;
    }
    if (c >= 0x20 || c == '\t') text += raw[i];
  }
  return text;
}

}  // namespace

LogText::LogText(std::string_view text, std::string file) : file_(std::move(file)) {
  int number = 1;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != '\n' && text[i] != '\r') continue;
    if (i > start) lines_.push_back({number, plain(text.substr(start, i - start))});
    if (i < text.size() && text[i] == '\n') ++number;
    start = i + 1;
  }
}

Where LogText::where(const LogLine& line) const {
  std::string shown = line.text.substr(0, kShownLine);
  // Not in the middle of a character.
  while (!shown.empty() && shown.size() < line.text.size() &&
         (static_cast<unsigned char>(line.text[shown.size()]) & 0xc0) == 0x80)
    shown.pop_back();
  Where where;
  where.file = file_;
  where.line = line.number;
  where.column = 1;
  where.line_text = shown;
  return where;
}

std::optional<double> LogText::number_after(const LogLine& line, std::string_view key, double least,
                                            double most, ErrorList& errors) const {
  const std::size_t at = line.text.find(key);
  if (at == std::string::npos) return std::nullopt;
  std::size_t i = at + key.size();
  while (i < line.text.size() && line.text[i] == ' ') ++i;
  std::string digits;
  for (; i < line.text.size(); ++i) {
    const char c = line.text[i];
    const bool in_number = std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.' ||
                           c == '-' || c == '+' || c == 'e' || c == 'E';
    const bool comma = c == ',' && i + 1 < line.text.size() &&
                       std::isdigit(static_cast<unsigned char>(line.text[i + 1])) != 0;
    if (comma) continue;
    if (!in_number) break;
    if (c != '+') digits += c;
  }
  const std::optional<double> value = parse_number<double>(digits);
  if (value && std::isfinite(*value) && *value >= least && *value <= most) return value;
  errors.add("log.value",
             fmt::format("after \"{}\" a number from {:g} to {:g} was expected", key, least, most),
             where(line));
  return std::nullopt;
}

int LogText::count_after(const LogLine& line, std::string_view key, ErrorList& errors) const {
  const std::optional<double> value = number_after(line, key, 0, 1 << 20, errors);
  return value ? static_cast<int>(*value) : 0;
}

std::optional<LogBlock> LogText::block(std::size_t index, std::size_t column, char open) const {
  const char close = open == '{' ? '}' : open == '(' ? ')' : ']';
  LogBlock block;
  int depth = 0;
  char quote = 0;
  for (std::size_t i = index; i < lines_.size(); ++i) {
    const std::string& text = lines_[i].text;
    for (std::size_t j = i == index ? column : 0; j < text.size(); ++j) {
      const char c = text[j];
      if (depth == 0 && c != open) continue;
      if (block.text.empty()) block.line = lines_[i].number;
      block.text += c;
      if (quote != 0) {
        if (c == '\\' && j + 1 < text.size())
          block.text += text[++j];
        else if (c == quote)
          quote = 0;
        continue;
      }
      if (c == '"' || c == '\'') quote = c;
      if (c == open) ++depth;
      if (c == close && --depth == 0) {
        block.end = i + 1;
        return block;
      }
    }
    if (depth == 0 || block.text.size() > kLongestBlock) return std::nullopt;
    quote = 0;
    // As many line ends as there are, so that places in the block are places in the log.
    const int next = i + 1 < lines_.size() ? lines_[i + 1].number : lines_[i].number + 1;
    block.text.append(static_cast<std::size_t>(next - lines_[i].number), '\n');
  }
  return std::nullopt;
}

std::string json_of_python(std::string_view text) {
  std::string json;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\'' || c == '"') {
      json += '"';
      for (++i; i < text.size() && text[i] != c; ++i) {
        if (text[i] == '\\' && i + 1 < text.size()) {
          ++i;
          if (text[i] == '\'')
            json += '\'';
          else
            json += {'\\', text[i]};
        } else if (text[i] == '"') {
          json += "\\\"";
        } else {
          json += text[i];
        }
      }
      json += '"';
      ++i;
    } else if (c == '(' || c == ')') {
      json += c == '(' ? '[' : ']';
      ++i;
    } else if (std::string_view("{}[],: \n\t").find(c) != std::string_view::npos) {
      json += c;
      ++i;
    } else {
      const std::size_t end = std::min(text.find_first_of("{}[](),:\n'\"", i), text.size());
      std::string word(text.substr(i, end - i));
      while (!word.empty() && word.back() == ' ') word.pop_back();
      const bool number = parse_number<double>(word).has_value() &&
                          word.find_first_not_of("0123456789.eE+-") == std::string::npos;
      if (word == "True" || word == "true")
        json += "true";
      else if (word == "False" || word == "false")
        json += "false";
      else if (word == "None" || word == "null")
        json += "null";
      else if (number)
        json += word;
      else
        json += '"' + word + '"';
      i = end;
    }
  }
  return json;
}

void PlacedLines::add(int line, std::string text) {
  const auto at = static_cast<std::size_t>(std::max(line, 1)) - 1;
  if (at < lines_.size()) {
    lines_.push_back(std::move(text));
    return;
  }
  lines_.resize(at, filler_);
  lines_.push_back(std::move(text));
}

std::string PlacedLines::text() const {
  std::string text;
  for (const std::string& line : lines_) text += line + "\n";
  return text;
}

}  // namespace nereus::logs
