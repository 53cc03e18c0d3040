// How many fields a plain struct has, so that a list of them that misses one does not compile.
//
//   static_assert(count_fields<Degrees>() == 21);
//
// A struct takes as many values in braces as it has fields; values of Any convert to whatever a
// field is. Where fields are optionals, which would take Any as their value too, say which Any.
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
