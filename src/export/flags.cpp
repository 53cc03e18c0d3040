#include "export/flags.hpp"

#include <fmt/format.h>

#include <limits>

#include "base/parse_number.hpp"

namespace nereus::exporting {

namespace {

bool is_option(const std::string& text) {
  if (text.size() > 2 && text.starts_with("--")) return true;
  // A lone dash and digits are numbers: "-1".
  return false;
}

}  // namespace

Flags::Flags(const std::vector<Word>& words, std::size_t first, spec::SourcePtr source,
             ErrorList& errors)
    : source_(std::move(source)), errors_(errors) {
  Occurrence* current = nullptr;
  for (std::size_t i = first; i < words.size(); ++i) {
    const Word& word = words[i];
    if (!is_option(word.text)) {
      if (current != nullptr) current->values.push_back(word);
      continue;
    }
    const std::size_t equals = word.text.find('=');
    current = &given_[word.text.substr(0, equals)];
    *current = {{}, word.line};
    if (equals != std::string::npos)
      current->values.push_back({word.text.substr(equals + 1), word.line, word.known});
  }
}

int Flags::line_of(std::string_view name) const {
  const auto found = given_.find(name);
  return found == given_.end() ? 0 : found->second.line;
}

Where Flags::where(std::string_view name) const {
  const int line = line_of(name);
  return line > 0 ? spec::where_in(*source_, line, 1) : Where{source_->file};
}

void Flags::fail(std::string_view name, std::string code, std::string message, std::string hint) {
  errors_.add(std::move(code), std::move(message), where(name), std::move(hint));
}

const Word* Flags::value_of(std::string_view name) {
  const auto found = given_.find(name);
  if (found == given_.end()) return nullptr;
  if (found->second.values.empty()) {
    fail(name, "import.value", fmt::format("{} has no value", name));
    return nullptr;
  }
  const Word& word = found->second.values.front();
  if (!word.known) {
    fail(name, "import.value",
         fmt::format("{} is {}, which is only known when the script runs", name, word.text),
         "write the value into a copy of the file");
    return nullptr;
  }
  return &word;
}

int Flags::whole(std::string_view name, int fallback, int least) {
  const Word* word = value_of(name);
  if (word == nullptr) return fallback;
  const std::optional<int> value = parse_number<int>(word->text);
  if (!value || *value < least) {
    fail(name, "import.value",
         fmt::format("{} takes a whole number from {}, not '{}'", name, least, word->text));
    return fallback;
  }
  return *value;
}

double Flags::number(std::string_view name, double fallback) {
  const Word* word = value_of(name);
  if (word == nullptr) return fallback;
  const std::optional<double> value = parse_number<double>(word->text);
  if (!value || !(*value >= -1e30 && *value <= 1e30)) {
    fail(name, "import.value", fmt::format("{} takes a number, not '{}'", name, word->text));
    return fallback;
  }
  return *value;
}

std::string Flags::text(std::string_view name, std::string fallback) {
  const Word* word = value_of(name);
  return word == nullptr ? fallback : word->text;
}

std::vector<std::string> Flags::texts(std::string_view name) const {
  std::vector<std::string> list;
  if (const auto found = given_.find(name); found != given_.end())
    for (const Word& word : found->second.values) list.push_back(word.text);
  return list;
}

bool Flags::truth(std::string_view name, bool fallback) {
  const auto found = given_.find(name);
  if (found == given_.end()) return fallback;
  if (found->second.values.empty()) return true;
  const std::string& text = found->second.values.front().text;
  return text == "true" || text == "True" || text == "1" || text == "yes";
}

}  // namespace nereus::exporting
