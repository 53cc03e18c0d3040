// Values for tests that visit all fields of a plan's degrees (plan/degree_fields.hpp).
#pragma once

#include "plan/degree_fields.hpp"

namespace nereus::plan::testing {

// A different value that the field may have.
template <class T>
T other_than(const T& value) {
  if constexpr (std::is_same_v<T, Offload>)
    return {.weights = 0.25, .optimizer = 1, .activations = 0.5, .tier = Tier::kNvme};
  else if constexpr (std::is_same_v<T, StateTypes>)
    return {.reduced = NumberType::kBf16, .moments = NumberType::kInt8};
  else if constexpr (std::is_same_v<T, bool>)
    return !value;
  else if constexpr (std::is_same_v<T, int>)
    return value + 1;
  else
    return static_cast<T>((static_cast<int>(value) + 1) % num_values<T>());
}

// A request that gives only this field.
template <class Field>
DegreesRequest request_of(const Field& field) {
  DegreesRequest request;
  using T = std::remove_cvref_t<decltype(*(request.*field.request))>;
  request.*field.request = other_than(T{});
  return request;
}

}  // namespace nereus::plan::testing
