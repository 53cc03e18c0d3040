// Maps enumerators to the words that users write for them, in both directions, with one table per
// type.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace nereus::plan {

template <class Enum, std::size_t kSize>
using Names = std::array<std::pair<Enum, std::string_view>, kSize>;

template <class Enum, std::size_t kSize>
constexpr std::string_view name_of(const Names<Enum, kSize>& names, Enum value) {
  for (const auto& [candidate, name] : names)
    if (candidate == value) return name;
  return "?";
}

template <class Enum, std::size_t kSize>
constexpr std::optional<Enum> value_of(const Names<Enum, kSize>& names, std::string_view text) {
  for (const auto& [value, name] : names)
    if (name == text) return value;
  return std::nullopt;
}

}  // namespace nereus::plan
