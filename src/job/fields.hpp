// One list of a struct's fields is used for writing and reading, so that the two cannot differ.
//
//   template <class Visitor, class T>
//   void visit(Visitor& v, T& t) { v.whole("steps", t.steps, 1); v.text("path", t.path); }
//
//   PutFields put; visit(put, job);            // put.take() is the table
//   TakeFields take(reader); visit(take, job); // absent fields keep their value
//   take.finish();                             // reports unknown keys
//
// JSON has no infinity and no NaN, but a loss that diverged is such a number: it is written as the
// word "nan", "inf" or "-inf".
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "plan/names.hpp"
#include "spec/reader.hpp"

namespace nereus::job {

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

class PutFields {
 public:
  template <class T>
  void whole(const char* key, T number, std::int64_t /*least*/ = 0) {
    table_.emplace_back(key, spec::Value{.data = static_cast<std::int64_t>(number)});
  }
  void real(const char* key, double number, double /*least*/ = -kNoLimit,
            double /*most*/ = kNoLimit) {
    if (std::isfinite(number))
      table_.emplace_back(key, spec::Value{.data = number});
    else
      text(key, std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
  }
  void truth(const char* key, bool yes) { table_.emplace_back(key, spec::Value{.data = yes}); }
  void text(const char* key, const std::string& text) {
    table_.emplace_back(key, spec::Value{.data = text});
  }
  template <class Names, class Enum>
  void name(const char* key, Enum value, const Names& names) {
    text(key, std::string(plan::name_of(names, value)));
  }
  template <class Words>
  void word(const char* key, const std::string& word, const Words&) {
    text(key, word);
  }
  spec::Value take() { return {.data = std::move(table_)}; }

 private:
  spec::Table table_;
};

class TakeFields {
 public:
  explicit TakeFields(spec::Reader& reader) : reader_(reader) {}

  template <class T>
  void whole(const char* key, T& number, std::int64_t least = 0) {
    if constexpr (std::is_same_v<T, int>)
      number = reader_.optional_int(key, number, static_cast<int>(least));
    else if constexpr (std::is_same_v<T, std::uint64_t>)  // all 64 bits, as a signed number
      number = static_cast<std::uint64_t>(reader_.optional_int64(
          key, static_cast<std::int64_t>(number), std::numeric_limits<std::int64_t>::min()));
    else
      number = reader_.optional_int64(key, number, least);
  }
  void real(const char* key, double& number, double least = -kNoLimit, double most = kNoLimit) {
    const spec::Value* value = reader_.raw(key);
    const auto* word = value == nullptr ? nullptr : std::get_if<std::string>(&value->data);
    const bool unbounded = least == -kNoLimit && most == kNoLimit;
    if (word != nullptr && unbounded && (*word == "nan" || *word == "inf" || *word == "-inf"))
      number = *word == "nan" ? std::nan("") : *word == "inf" ? kNoLimit : -kNoLimit;
    else
      number = reader_.optional_double(key, number, least, most);
  }
  void truth(const char* key, bool& yes) { yes = reader_.optional_bool(key, yes); }
  void text(const char* key, std::string& text) { text = reader_.optional_string(key, text); }
  template <class Names, class Enum>
  void name(const char* key, Enum& value, const Names& names) {
    spec::Choices<Enum> choices;
    for (const auto& [enumerator, word] : names) choices.emplace_back(word, enumerator);
    value = reader_.optional_enum(key, value, choices);
  }
  template <class Words>
  void word(const char* key, std::string& word, const Words& words) {
    spec::Choices<std::string> choices;
    for (const char* choice : words) choices.emplace_back(choice, choice);
    word = reader_.optional_enum(key, word, choices);
  }
  void finish() {
    if (reader_.present()) reader_.finish();
  }

 private:
  spec::Reader& reader_;
};

// Reads an object from one line: `visit(reader, fields)` takes its fields. Throws Errors.
template <class Visit>
void parse_fields(std::string_view line, const char* what, const Visit& visit) {
  const spec::Value root = spec::parse_json(line, what);
  ErrorList errors;
  spec::Reader reader(root, errors, spec::Units::kRawSi);
  TakeFields take(reader);
  visit(reader, take);
  take.finish();
  errors.throw_if_any();
}

}  // namespace nereus::job
