// The bits of a value as another type of the same size (std::bit_cast, which libc++ 13 lacks).
#pragma once

#include <cstring>
#include <type_traits>

namespace nereus {

template <class To, class From>
To bits_as(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  static_assert(std::is_trivially_copyable_v<From> && std::is_trivially_copyable_v<To>);
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

}  // namespace nereus
