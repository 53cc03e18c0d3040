// Counts the fields of a plain struct, so that a list that misses one does not compile.
//
//   static_assert(count_fields<Degrees>() == 21);
//
// A struct can be initialized with as many values in braces as it has fields; values of Any convert
// to the type of any field. If fields are optionals, which would also accept Any as their value,
// use AnyOptional.
#pragma once

#include <cstddef>
#include <optional>

namespace nereus {

struct AnyValue {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): it must be implicit
};

struct AnyOptional {
  template <class T>
  operator std::optional<T>() const;  // NOLINT(google-explicit-constructor)
};

template <class Struct, class Any = AnyValue, class... Values>
consteval std::size_t count_fields(Values... values) {
  if constexpr (requires { Struct{values..., Any{}}; })
    return count_fields<Struct, Any>(values..., Any{});
  else
    return sizeof...(Values);
}

}  // namespace nereus
