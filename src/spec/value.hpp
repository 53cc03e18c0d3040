// A tree for TOML, YAML and JSON that keeps the position of each value, so that every later error
// can point to file:line:column.
//
//   Value v = parse_file("cluster.toml");            // by extension; throws Errors
//   set_path(v, "nodes.0.count", "4");               // --set
//   Reader r(v, errors);                             // spec/reader.hpp checks keys and types
//
// Syntax errors have the code "spec.syntax"; a duplicate key is one. Nesting deeper than
// kMostNesting is rejected, so that recursion over a tree is safe.
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
using Table = std::vector<Member>;  // in the order of the file; keys are unique

struct Value {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Table> data;
  int line = 0;  // counted from 1; 0 for a value that is not from a file
  int column = 0;
  SourcePtr source;

  bool is_null() const { return data.index() == 0; }
  // Nullptr if this is not a table or has no such key.
  const Value* find(std::string_view key) const;
  const char* type_name() const;              // "a table", "an integer", ...
  Where where() const;                        // with the line, for an Error
  bool operator==(const Value& other) const;  // compares the data, not the positions
};

// Like a std::pair: clang 14 cannot instantiate a pair of a type that holds such pairs in a
// variant.
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
// .toml, .yaml, .yml, .json; other extensions are an Error.
Value parse_file(const std::string& path);

// The tree as JSON in one line. Numbers read back exactly. JSON has no infinity and no NaN: they
// become null.
std::string to_json(const Value& value);

// Sets a value by a dotted path ("layers", "nodes.0.count", "nodes.\"p4d.24xlarge\".count"); --set
// uses it. Missing tables on the path are created; the Reader checks later whether the key exists.
// The text is parsed as a TOML value; if that fails, it is a string ("80 GiB"). A path through a
// value that is not a table, or beyond the end of an array, is an Error "spec.set-path".
void set_path(Value& root, std::string_view path, std::string_view text);

}  // namespace nereus::spec
