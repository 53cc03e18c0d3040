#include "calibrate/row_stack.hpp"

#include <string_view>

namespace nereus::calibrate {

namespace {

// "2025-02" as "25.02": releases are compared as text.
std::string release_of(std::string_view date) {
  if (date.size() >= 7 && date.starts_with("20") && date[4] == '-')
    return std::string(date.substr(2, 2)) + "." + std::string(date.substr(5, 2));
  return std::string(date);
}

}  // namespace

std::string stack_of(const Row& row, const cost::StackLibrary& library,
                     const std::string& fallback) {
  std::string name(row.text("stack"));
  if (!library.has(name)) return fallback;
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

}  // namespace nereus::calibrate
