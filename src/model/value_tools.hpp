// Small helpers to build value trees and to name enumerators in them.
#pragma once

#include <string>
#include <utility>

#include "base/error.hpp"
#include "spec/reader.hpp"
#include "spec/value.hpp"

namespace nereus::model {

// T is one of the alternatives of Value::data.
template <class T>
spec::Value to_value(T data) {
  spec::Value value;
  value.data = std::move(data);
  return value;
}

template <class E>
std::string name_of(const spec::Choices<E>& choices, E value) {
  for (const auto& [name, candidate] : choices)
    if (candidate == value) return std::string(name);
  check_failed("name_of", __FILE__, __LINE__, "an enumerator without a name");
}

}  // namespace nereus::model
