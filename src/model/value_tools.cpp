#include "model/value_tools.hpp"

#include <utility>

namespace nereus::model {

namespace {

template <class T>
spec::Value make(T data) {
  spec::Value value;
  value.data = std::move(data);
  return value;
}

}  // namespace

spec::Value to_value(bool data) { return make(data); }
spec::Value to_value(std::int64_t data) { return make(data); }
spec::Value to_value(double data) { return make(data); }
spec::Value to_value(std::string data) { return make(std::move(data)); }
spec::Value to_value(spec::Array data) { return make(std::move(data)); }
spec::Value to_value(spec::Table data) { return make(std::move(data)); }

}  // namespace nereus::model
