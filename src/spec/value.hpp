// One tree for TOML, YAML and JSON that remembers where each value stood, so that every later complaint can
// point at file:line:column.
//
//   Value v = parse_file("cluster.toml");            // by extension; throws Errors
//   Reader r(v, errors);                              // spec/reader.hpp checks keys and types
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"

namespace nereus::spec {

struct Value;
using Array = std::vector<Value>;
using Table = std::vector<std::pair<std::string, Value>>;  // in file order; keys unique

struct Value {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Table> data;
  Where where;

  bool is_null() const { return data.index() == 0; }
  const Value* find(std::string_view key) const;  // nullptr where not a table or no such key
  const char* type_name() const;                  // "table", "number", ...
};

Value parse_toml(std::string_view text, const std::string& file);
Value parse_yaml(std::string_view text, const std::string& file);
Value parse_json(std::string_view text, const std::string& file);
Value parse_file(const std::string& path);  // .toml, .yaml, .yml, .json; a missing, unreadable or other file is an Error

// The whole file as bytes. A directory, a missing or an unreadable file is an Error that says which.
std::string read_text_file(const std::string& path);

// Sets a value by a dotted path ("layers", "nodes.0.count"): the mechanism behind --set. The text is parsed as a
// TOML value and falls back to a string ("80 GiB").
void set_path(Value& root, std::string_view path, std::string_view text);

}  // namespace nereus::spec
