#include "spec/value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace nereus::spec {

const Value* Value::find(std::string_view key) const {
  const auto* table = std::get_if<Table>(&data);
  if (table == nullptr) return nullptr;
  for (const auto& [name, value] : *table)
    if (name == key) return &value;
  return nullptr;
}

const char* Value::type_name() const {
  constexpr const char* kNames[] = {"null",     "a boolean", "an integer", "a number",
                                    "a string", "an array",  "a table"};
  return kNames[data.index()];
}

Where Value::where() const { return source == nullptr ? Where{} : where_in(*source, line, column); }

bool Value::operator==(const Value& other) const { return data == other.data; }

Value parse_file(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const auto parse = extension == ".toml"                          ? parse_toml
                     : extension == ".yaml" || extension == ".yml" ? parse_yaml
                     : extension == ".json"                        ? parse_json
                                                                   : nullptr;
  const std::string text = read_text_file(path);  // first: a missing file is the better complaint
  if (parse == nullptr)
    throw_input_error("spec.unknown-format",
                      fmt::format("cannot tell the format of \"{}\" by its name", path), {},
                      "the name must end in .toml, .yaml, .yml or .json");
  return parse(text, path);
}

}  // namespace nereus::spec
