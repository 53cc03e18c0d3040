// Reader: tables inside tables, and arrays.
#include <fmt/format.h>

#include <cmath>

#include "spec/reader.hpp"

namespace nereus::spec {

Reader Reader::required_table(std::string_view key) {
  look_required(key);
  return optional_table(key);
}

Reader Reader::optional_table(std::string_view key) {
  const Value* value = look(key);
  if (value != nullptr && !std::holds_alternative<Table>(value->data)) {
    wrong_type(key, *value, "a table");
    value = nullptr;
  }
  return Reader(value, *this, key, -1);
}

const Array& Reader::to_array(std::string_view key, const Value* value) {
  static const Array kNoArray;
  if (value == nullptr) return kNoArray;
  if (const auto* array = std::get_if<Array>(&value->data)) return *array;
  return wrong_type(key, *value, "an array"), kNoArray;
}

std::vector<Reader> Reader::to_tables(std::string_view key, const Value* value) {
  std::vector<Reader> readers;
  const Array& array = to_array(key, value);
  readers.reserve(array.size());
  for (std::size_t i = 0; i < array.size(); ++i) {
    if (std::holds_alternative<Table>(array[i].data))
      readers.push_back(Reader(&array[i], *this, key, static_cast<int>(i)));
    else
      wrong_type(fmt::format("{}[{}]", key, i), array[i], "a table");
  }
  return readers;
}

std::vector<Reader> Reader::required_tables(std::string_view key) {
  const Value* value = look_required(key);
  const auto* array = value != nullptr ? std::get_if<Array>(&value->data) : nullptr;
  if (array != nullptr && array->empty())
    add("spec.range", fmt::format("\"{}\" must have at least 1 element, has 0", key), *value);
  return to_tables(key, value);
}
std::vector<Reader> Reader::optional_tables(std::string_view key) {
  return to_tables(key, look(key));
}

std::vector<int> Reader::required_ints(std::string_view key, int min, int max) {
  look_required(key);
  return optional_ints(key, min, max);
}
std::vector<int> Reader::optional_ints(std::string_view key, int min, int max) {
  std::vector<int> numbers;
  for (const Value& element : to_array(key, look(key)))
    numbers.push_back(static_cast<int>(to_int(key, element, min, min, max)));
  return numbers;
}

std::vector<double> Reader::required_doubles(std::string_view key, double min, double max) {
  look_required(key);
  return optional_doubles(key, min, max);
}
std::vector<double> Reader::optional_doubles(std::string_view key, double min, double max) {
  std::vector<double> numbers;
  for (const Value& element : to_array(key, look(key)))
    numbers.push_back(to_double(key, element, std::isfinite(min) ? min : 0, min, max));
  return numbers;
}

std::vector<std::string> Reader::required_strings(std::string_view key) {
  look_required(key);
  return optional_strings(key);
}
std::vector<std::string> Reader::optional_strings(std::string_view key) {
  std::vector<std::string> texts;
  for (const Value& element : to_array(key, look(key)))
    texts.push_back(to_string(key, element, true));
  return texts;
}

}  // namespace nereus::spec
