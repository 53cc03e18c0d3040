// One tree for TOML, YAML and JSON that remembers where each value stood, so that every later
// complaint can point at file:line:column.
//
//   Value v = parse_file("cluster.toml");            // by extension; throws Errors
//   set_path(v, "nodes.0.count", "4");               // --set
//   Reader r(v, errors);                             // spec/reader.hpp checks keys and types
//
// Syntax errors have the code "spec.syntax"; a key written twice is one. Nesting deeper than
// kMostNesting is refused, so that recursion over a tree is safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "spec/source.hpp"

namespace nereus::spec {

inline constexpr int kMostNesting = 64;

struct Value;
struct Member;
using Array = std::vector<Value>;
using Table = std::vector<Member>;  // in file order; keys unique

struct Value {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Table> data;
  int line = 0;  // counted from 1; 0 for a value that no file holds
  int column = 0;
  SourcePtr source;

  bool is_null() const { return data.index() == 0; }
  const Value* find(std::string_view key) const;  // nullptr where not a table or no such key
  const char* type_name() const;                  // "a table", "an integer", ...
  Where where() const;                            // with the line, for an Error
  bool operator==(const Value& other) const;      // of the data; the place does not count
};

// A std::pair in all but name: clang 14 cannot instantiate a pair of a type that holds such pairs
// in a variant.
struct Member {
  Member() = default;
  Member(std::string key, Value value) : first(std::move(key)), second(std::move(value)) {}
  bool operator==(const Member&) const = default;

  std::string first;
  Value second;
};

Value parse_toml(std::string_view text, const std::string& file);
Value parse_yaml(std::string_view text, const std::string& file);
Value parse_json(std::string_view text, const std::string& file);
Value parse_file(const std::string& path);  // .toml, .yaml, .yml, .json; anything else is an Error

// The tree as JSON in one line, numbers so that they read back the same. JSON has no infinity and
// no NaN: null.
std::string to_json(const Value& value);

// Sets a value by a dotted path ("layers", "nodes.0.count", "nodes.\"p4d.24xlarge\".count"): the
// mechanism behind --set. Missing tables on the way are made; whether the key makes sense is for
// the Reader to say. The text is parsed as a TOML value and falls back to a string ("80 GiB"). A
// path through a value that is no table or beyond the end of an array is an Error "spec.set-path".
void set_path(Value& root, std::string_view path, std::string_view text);

}  // namespace nereus::spec
