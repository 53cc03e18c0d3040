#include "export/keys.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.hpp"

namespace nereus::exporting {

namespace {

void split(std::string_view names, std::vector<std::string>& list) {
  std::size_t at = 0;
  while ((at = names.find_first_not_of(" \n", at)) != std::string_view::npos) {
    const std::size_t end = std::min(names.find_first_of(" \n", at), names.size());
    list.emplace_back(names.substr(at, end - at));
    at = end;
  }
}

}  // namespace

std::vector<std::string> KeySet::all() const {
  std::vector<std::string> list;
  split(read, list);
  split(ignored, list);
  return list;
}

bool KeySet::reads(std::string_view key) const {
  std::vector<std::string> list;
  split(read, list);
  return std::find(list.begin(), list.end(), key) != list.end();
}

void note_unknown_keys(const spec::Value& table, const KeySet& keys, const std::string& prefix,
                       std::string_view program, Reading& reading, ErrorList& errors) {
  const auto* members = std::get_if<spec::Table>(&table.data);
  if (members == nullptr) return;
  const std::vector<std::string> known = keys.all();
  for (const auto& [key, value] : *members) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::optional<std::string> near = nearest(key, known);
    if (near && keys.reads(*near) && edit_distance(key, *near) <= 2) {
      errors.add("import.unknown-key", fmt::format("{} has no key {}{}", program, prefix, key),
                 value.where(), fmt::format("did you mean {}{}?", prefix, *near));
    } else if (reading.not_understood.size() < 100) {
      reading.not_understood.push_back(
          {near ? fmt::format("{}{} (nearest known: {})", prefix, key, *near) : prefix + key,
           value.line});
    }
  }
}

}  // namespace nereus::exporting
