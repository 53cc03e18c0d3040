#include "search/regular/choice_fields.hpp"

#include <algorithm>

namespace nereus::search {

std::vector<std::string> given_options(const Choices& choices,
                                       const std::vector<std::string_view>& allowed) {
  std::vector<std::string> options;
  const auto add = [&](bool given, std::string_view option) {
    if (given && std::find(allowed.begin(), allowed.end(), option) == allowed.end())
      options.emplace_back(option);
  };
  for_each_choice([&](const auto& field) {
    bool given = !(choices.*field.list).empty();
    if (field.name == "offload")
      given = given || choices.offload_any || !choices.offload_tiers.empty();
    // Without an option of its own only a program can set it.
    add(given, field.option == nullptr ? field.name : field.option);
  });
  add(choices.state_types != plan::StateTypes{}, "--state-types");
  add(choices.max_tp > 0, "--max-tp");
  return options;
}

}  // namespace nereus::search
