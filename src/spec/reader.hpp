// Reads the members of a table and checks them: kind, range, unit, choice. Every error is added to
// an ErrorList with its place, so that all errors of a file are reported at once. A failed read
// returns the fallback (for a required value: the smallest allowed one), so that reading continues.
//
//   ErrorList errors;
//   const Value file = parse_file("node.toml");  // must outlive the Reader
//   Reader r(file, errors);
//   node.count = r.required_int("count", 1);
//   node.memory = r.required<Bytes>("memory");                        // "80 GiB"
//   node.latency = r.optional<Seconds>("latency", Seconds{0}, Zero::kAllowed);
//   for (Reader& link : r.optional_tables("links")) { ...; link.finish(); }
//   r.finish();           // unused keys are errors that suggest the nearest key
//   errors.throw_if_any();
//
// A member that is null counts as absent. A Reader of an absent table (optional_table) reports
// nothing: each read returns its fallback. Codes: spec.missing-key, spec.unknown-key, spec.type,
// spec.range, spec.choice, spec.missing-unit, spec.unknown-unit, spec.bad-quantity.
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

// The form of quantities in the file: written by people with units, or by programs as raw SI
// numbers (our JSON), where strings with units are accepted too.
enum class Units { kWritten, kRawSi };

// Whether a quantity may be zero; negative ones are always rejected.
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

  bool present() const { return table_ != nullptr; }  // false if the table is absent
  bool has(std::string_view key);                     // also marks the key as known
  // In the order of the file, for tables with arbitrary keys.
  std::vector<std::string_view> keys() const;

  // Whole numbers within [min, max]. 4.0 is accepted, 4.5 is not.
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
  std::string required_string(std::string_view key);  // must not be empty
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

  // Tables inside this one, and arrays of them. finish() must be called for each of them too.
  Reader required_table(std::string_view key);
  Reader optional_table(std::string_view key);
  std::vector<Reader> required_tables(std::string_view key);  // at least one
  std::vector<Reader> optional_tables(std::string_view key);

  // Arrays of plain values. An absent optional one is empty.
  std::vector<int> required_ints(std::string_view key, int min, int max = kMaxInt);
  std::vector<int> optional_ints(std::string_view key, int min, int max = kMaxInt);
  std::vector<double> required_doubles(std::string_view key, double min = -kInfinity,
                                       double max = kInfinity);
  std::vector<double> optional_doubles(std::string_view key, double min = -kInfinity,
                                       double max = kInfinity);
  std::vector<std::string> required_strings(std::string_view key);
  std::vector<std::string> optional_strings(std::string_view key);

  const Value* raw(std::string_view key);  // for other kinds of values; nullptr if absent
  void skip(std::string_view key);         // marks the key as known
  void skip_rest();  // marks all other keys as known: for files of other programs

  // Adds an error at the place of this key, or of the table if the key is absent.
  void fail(std::string_view key, std::string code, std::string message, std::string hint = {});
  Where where(std::string_view key) const;

  // Reports every key that was not read.
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
  std::string name_;  // the key of this table, or empty
  int index_ = -1;    // its index if it is an element of an array
  std::size_t next_ =
      0;  // where the next key is searched first: files mostly have the order of the reads
  std::vector<bool> read_;           // one per member
  std::vector<std::string> absent_;  // keys that were read but are absent
};

}  // namespace nereus::spec
