// Reads the members of a table and checks them: kind, range, unit, choice. Every fault is added to
// an ErrorList with its place, so that all that is wrong with a file is said at once; a failed read
// gives back the fallback (of a required value: the least allowed), so that reading goes on.
//
//   ErrorList errors;
//   const Value file = parse_file("node.toml");  // must outlive the Reader
//   Reader r(file, errors);
//   node.count = r.required_int("count", 1);
//   node.memory = r.required<Bytes>("memory");                        // "80 GiB"
//   node.latency = r.optional<Seconds>("latency", Seconds{0}, Zero::kAllowed);
//   for (Reader& link : r.optional_tables("links")) { ...; link.finish(); }
//   r.finish();           // every key nobody asked for is an error with the nearest key
//   errors.throw_if_any();
//
// A member that is null counts as absent. A Reader of an absent table (optional_table) is silent:
// each read gives its fallback. Codes: spec.missing-key, spec.unknown-key, spec.type, spec.range,
// spec.choice, spec.missing-unit, spec.unknown-unit, spec.bad-quantity.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "spec/quantity.hpp"
#include "spec/value.hpp"

namespace nereus::spec {

// How quantities stand in the file: written by people with units, or by programs as raw SI numbers
// (our own JSON), where strings with units are taken as well.
enum class Units { kWritten, kRawSi };

// Whether a quantity may be zero; negative ones are always refused.
enum class Zero { kForbidden, kAllowed };

template <class E>
using Choices = std::vector<std::pair<std::string_view, E>>;

class Reader {
 public:
  static constexpr int kMaxInt = std::numeric_limits<int>::max();
  static constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  Reader(const Value& table, ErrorList& errors, Units units = Units::kWritten);
  Reader(Value&& table, ErrorList& errors, Units units = Units::kWritten) = delete;

  bool present() const { return table_ != nullptr; }  // false for a table that is not there
  bool has(std::string_view key);                     // also makes the key known
  std::vector<std::string_view> keys() const;         // in file order, for tables with free keys

  // Whole numbers within [min, max]. 4.0 is one, 4.5 is not.
  int required_int(std::string_view key, int min, int max = kMaxInt);
  int optional_int(std::string_view key, int fallback, int min, int max = kMaxInt);
  std::int64_t required_int64(std::string_view key, std::int64_t min, std::int64_t max = kMaxInt64);
  std::int64_t optional_int64(std::string_view key, std::int64_t fallback, std::int64_t min,
                              std::int64_t max = kMaxInt64);

  // Finite numbers within [min, max].
  double required_double(std::string_view key, double min = -kInfinity, double max = kInfinity);
  double optional_double(std::string_view key, double fallback, double min = -kInfinity,
                         double max = kInfinity);

  bool required_bool(std::string_view key);
  bool optional_bool(std::string_view key, bool fallback);
  std::string required_string(std::string_view key);  // not empty
  std::string optional_string(std::string_view key, std::string fallback = {});

  // Quantities: Bytes, BytesPerSecond, Seconds, Flops, FlopsPerSecond, Watts, Usd, UsdPerHour.
  template <class Q>
  Q required(std::string_view key, Zero zero = Zero::kForbidden);
  template <class Q>
  Q optional(std::string_view key, Q fallback, Zero zero = Zero::kForbidden);

  // One of a list of names: r.required_enum<Link>("kind", {{"nvlink", Link::kNvlink}, ...}).
  template <class E>
  E required_enum(std::string_view key, const Choices<E>& choices) {
    return choices[choice(key, names_of(choices), 0, true)].second;
  }
  template <class E>
  E optional_enum(std::string_view key, E fallback, const Choices<E>& choices) {
    const std::size_t index = choice(key, names_of(choices), choices.size(), false);
    return index < choices.size() ? choices[index].second : fallback;
  }

  // Tables inside this one, and arrays of them. Each must be finished as well.
  Reader required_table(std::string_view key);
  Reader optional_table(std::string_view key);
  std::vector<Reader> required_tables(std::string_view key);  // at least one
  std::vector<Reader> optional_tables(std::string_view key);

  // Arrays of plain values. A missing optional one is empty.
  std::vector<int> required_ints(std::string_view key, int min, int max = kMaxInt);
  std::vector<int> optional_ints(std::string_view key, int min, int max = kMaxInt);
  std::vector<double> required_doubles(std::string_view key, double min = -kInfinity,
                                       double max = kInfinity);
  std::vector<double> optional_doubles(std::string_view key, double min = -kInfinity,
                                       double max = kInfinity);
  std::vector<std::string> required_strings(std::string_view key);
  std::vector<std::string> optional_strings(std::string_view key);

  const Value* raw(std::string_view key);  // for what fits none of these; nullptr where absent
  void skip(std::string_view key);         // known, but of no interest here
  void skip_rest();                        // so are all others: files of other programs

  // Adds an error at the place of this key, or of the table where the key is absent.
  void fail(std::string_view key, std::string code, std::string message, std::string hint = {});
  Where where(std::string_view key) const;

  // Reports every key that was not asked for.
  void finish();

 private:
  Reader(const Value* table, const Reader& parent, std::string_view name, int index);

  const Value* look(std::string_view key);
  const Value* look_required(std::string_view key);
  std::string path() const;
  bool room_for_error();
  void add(std::string code, std::string message, const Value& at, std::string hint = {});
  void wrong_type(std::string_view key, const Value& value, std::string_view expected);
  std::size_t choice(std::string_view key, const std::vector<std::string>& names,
                     std::size_t fallback, bool required);
  template <class E>
  static std::vector<std::string> names_of(const Choices<E>& choices) {
    std::vector<std::string> names;
    for (const auto& [name, value] : choices) names.emplace_back(name);
    return names;
  }

  std::int64_t to_int(std::string_view key, const Value& value, std::int64_t fallback,
                      std::int64_t min, std::int64_t max);
  double to_double(std::string_view key, const Value& value, double fallback, double min,
                   double max);
  std::string to_string(std::string_view key, const Value& value, bool may_be_empty);
  template <class Q>
  Q to_quantity(std::string_view key, const Value& value, Q fallback, Zero zero);
  const Array& to_array(std::string_view key, const Value* value);
  std::vector<Reader> to_tables(std::string_view key, const Value* value);

  const Table* table_ = nullptr;
  const Value* value_ = nullptr;
  ErrorList* errors_ = nullptr;
  Units units_ = Units::kWritten;
  std::string name_;  // the key this table stands under, or empty
  int index_ = -1;    // its number where it is an element of an array
  std::size_t next_ =
      0;  // where the next key is looked for first: files mostly have the order of the reads
  std::vector<bool> read_;           // one per member
  std::vector<std::string> absent_;  // keys that were asked for and are not there
};

}  // namespace nereus::spec
