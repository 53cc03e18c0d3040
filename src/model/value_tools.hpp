// Small helpers to build value trees and to name enumerators in them.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "spec/reader.hpp"
#include "spec/value.hpp"

namespace nereus::model {

spec::Value to_value(bool data);
spec::Value to_value(std::int64_t data);
spec::Value to_value(double data);
spec::Value to_value(std::string data);
spec::Value to_value(spec::Array data);
spec::Value to_value(spec::Table data);
spec::Value to_value(const char*) = delete;  // would convert to bool

template <class E>
std::string name_of(const spec::Choices<E>& choices, E value) {
  for (const auto& [name, candidate] : choices)
    if (candidate == value) return std::string(name);
  check_failed("name_of", __FILE__, __LINE__, "an enumerator without a name");
}

}  // namespace nereus::model
