#include "stack/parameters.hpp"

namespace nereus::cost {

namespace {
constexpr ParameterInfo kTable[] = {
#define NEREUS_ROW(name, value, low, high, unit, meaning) \
  {#name, &Parameters::name, low, high, unit, meaning},
    NEREUS_PARAMETERS(NEREUS_ROW)
#undef NEREUS_ROW
};
}  // namespace

std::span<const ParameterInfo> parameter_table() { return kTable; }

const ParameterInfo* find_parameter(std::string_view name) {
  for (const ParameterInfo& info : kTable)
    if (info.name == name) return &info;
  return nullptr;
}

}  // namespace nereus::cost
