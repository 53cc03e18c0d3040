#include "plan/degree_fields.hpp"

#include <algorithm>

namespace nereus::plan {

std::vector<std::string> given_options(const DegreesRequest& request,
                                       const std::vector<std::string_view>& allowed) {
  std::vector<std::string> options;
  for_each_request([&](const auto& field) {
    if (field.option == nullptr || !(request.*field.request)) return;
    if (std::find(allowed.begin(), allowed.end(), field.option) == allowed.end())
      options.emplace_back(field.option);
  });
  return options;
}

}  // namespace nereus::plan
