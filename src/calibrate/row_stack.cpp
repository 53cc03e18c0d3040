#include "calibrate/row_stack.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace nereus::calibrate {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// The first word names the framework; the others may be in the source ("NVIDIA/...").
bool has_words(const std::string& framework, const std::string& source, std::string_view words) {
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    const std::string_view word = words.substr(at, end - at);
    const bool found = framework.find(word) != std::string::npos ||
                       (at > 0 && source.find(word) != std::string::npos);
    if (!found) return false;
    at = end + 1;
  }
  return true;
}

// The stack whose `frameworks` has the most telling words of a row's framework and source; empty if
// none has.
std::string stack_of_framework(const Row& row, const cost::StackLibrary& library) {
  if (row.blank("framework")) return {};
  const std::string framework = lower(row.text("framework"));
  const std::string source = lower(row.text("source"));
  std::string best;
  std::size_t most = 0;
  for (const auto& [name, entry] : library.stacks)
    for (const std::string& words : entry.frameworks)
      if (words.size() > most && has_words(framework, source, words)) {
        best = name;
        most = words.size();
      }
  return best;
}

// "2025-02" as "25.02": releases are compared as text.
std::string release_of(std::string_view date) {
  if (date.size() >= 7 && date.starts_with("20") && date[4] == '-')
    return std::string(date.substr(2, 2)) + "." + std::string(date.substr(5, 2));
  return std::string(date);
}

}  // namespace

std::string variant_of(std::string name, const Row& row, const cost::StackLibrary& library) {
  if (const std::string release = release_of(row.text("software_date")); !release.empty()) {
    std::string newest = name;
    for (const auto& [from, stack] : library.stacks.find(name)->second.releases)
      if (from <= release && library.has(stack)) newest = stack;
    name = newest;
  }
  for (const auto& [column, variant] : library.stacks.find(name)->second.variants) {
    const std::size_t equals = column.find('=');
    const std::string value = equals == std::string::npos ? "yes" : column.substr(equals + 1);
    if (row.text(column.substr(0, equals)) == value && library.has(variant)) return variant;
  }
  return name;
}

std::string stack_of(const Row& row, const cost::StackLibrary& library,
                     const std::string& fallback) {
  std::string name(row.text("stack"));
  if (name.empty()) name = stack_of_framework(row, library);
  return library.has(name) ? variant_of(name, row, library) : fallback;
}

}  // namespace nereus::calibrate
