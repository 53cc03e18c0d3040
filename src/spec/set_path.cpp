#include <fmt/format.h>

#include "base/parse_number.hpp"
#include "spec/value.hpp"

namespace nereus::spec {

namespace {

// The whole assignment is the "file" that errors about it show.
struct Assignment {
  std::string_view path;
  std::string_view text;
  SourcePtr source;

  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}) const {
    throw_input_error("spec.set-path", message, where_in(*source, 1, 1), hint);
  }
};

// "a.\"b.c\".0" -> {"a", "b.c", "0"}
std::vector<std::string> split_path(const Assignment& assignment) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (const char c : assignment.path) {
    if (c == '"')
      quoted = !quoted;
    else if (c == '.' && !quoted)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  if (quoted) assignment.fail("a quote in the path is never closed");
  for (const std::string& part : parts)
    if (part.empty()) assignment.fail("the path has an empty part", "write it as model.layers=4");
  if (parts.size() > static_cast<std::size_t>(kMostNesting))
    assignment.fail(fmt::format("the path has more than {} parts", kMostNesting));
  return parts;
}

// The text as a TOML value, or as a string if it is not valid TOML.
Value parse_value(const Assignment& assignment) {
  Value value;
  value.data = std::string(assignment.text);
  // A line end would start a second key.
  if (assignment.text.find('\n') == std::string_view::npos) {
    try {
      const Value parsed = parse_toml("v = " + std::string(assignment.text), "--set");
      if (const Value* v = parsed.find("v")) value.data = v->data;
    } catch (const Errors&) {
      // "80 GiB", "llama3-8b" and the like
    }
  }
  return value;
}

// Everything below a set value has the place of the assignment.
void place(Value& value, const Assignment& assignment) {
  value.source = assignment.source;
  value.line = 1;
  value.column = static_cast<int>(assignment.path.size()) + 2;
  if (auto* array = std::get_if<Array>(&value.data))
    for (Value& child : *array) place(child, assignment);
  if (auto* table = std::get_if<Table>(&value.data))
    for (auto& [key, child] : *table) place(child, assignment);
}

Value& element(Array& array, const std::string& part, const Assignment& assignment) {
  const std::optional<std::size_t> index = parse_number<std::size_t>(part);
  if (!index || *index >= array.size())
    assignment.fail(fmt::format("\"{}\" is no element of an array of {}", part, array.size()),
                    array.empty() ? "" : fmt::format("0 to {}", array.size() - 1));
  return array[*index];
}

Value& member(Table& table, const std::string& part) {
  for (auto& [key, value] : table)
    if (key == part) return value;
  table.emplace_back().first = part;
  return table.back().second;
}

}  // namespace

void set_path(Value& root, std::string_view path, std::string_view text) {
  const std::string shown = fmt::format("{}={}", path, text);
  const Assignment assignment{path, text, make_source(shown, "--set")};
  const std::vector<std::string> parts = split_path(assignment);
  Value* at = &root;
  for (const std::string& part : parts) {
    if (at->is_null()) at->data = Table();
    if (auto* array = std::get_if<Array>(&at->data))
      at = &element(*array, part, assignment);
    else if (auto* table = std::get_if<Table>(&at->data))
      at = &member(*table, part);
    else
      assignment.fail(
          fmt::format("\"{}\" is set below {}, not below a table", part, at->type_name()));
  }
  *at = parse_value(assignment);
  place(*at, assignment);
}

}  // namespace nereus::spec
