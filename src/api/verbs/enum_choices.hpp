// The names of an enumeration's values as choices of an option.
//
//   command.choice("--precision", choices_of(request.precision), "...");
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/form/command.hpp"
#include "plan/degree_fields.hpp"

namespace nereus::api {

// All values, with the names of to_string().
template <class Enum>
std::vector<Choice> choices_of(std::optional<Enum>& target) {
  std::vector<Choice> choices;
  for (int i = 0; i < plan::num_values<Enum>(); ++i) {
    const Enum value = static_cast<Enum>(i);
    choices.push_back({std::string(to_string(value)), [&target, value] { target = value; }});
  }
  return choices;
}

}  // namespace nereus::api
