// One list of a struct's fields serves writing and reading, so that the two cannot differ. The list
// is a function in the struct's own namespace (not an unnamed one):
//
//   template <class Visitor>
//   void visit_fields(Visitor& v, spec::Like<Team> auto& team) {
//     v.needed("size", team.size, 1);   // at least 1; reading: an error if it is absent
//     v.always("seed", team.seed);      // unchanged if absent; always written
//     v("stride", team.stride, 1, 99);  // unchanged if absent; not written if equal to Team{}'s
//     v.by_hand("ranks", team.ranks, write_ranks, read_ranks);  // to a Value, from a Reader
//     v.check([&](spec::Reader& r) { .. });                  // checks what was read
//   }
//
//   spec::Value value = spec::put_value(team);       // or put_fields, for only the table
//   spec::take_fields(reader, team);    // errors go to the reader's list, unknown keys too
//
// Fields are numbers (their minimum and maximum may follow; without a minimum, whole numbers start
// at 0), booleans, texts (the allowed words may follow), enumerators, structs with such a list, and
// vectors of these. Enumerators are written with the names of to_string(), counted from 0 until
// "?", or with those of a list of pairs that follows.
//
// JSON has no infinity and no NaN, but a loss that diverged may be either. Such numbers are written
// as the words "nan", "inf" and "-inf", which are accepted for numbers without a range.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "spec/reader.hpp"

namespace nereus::spec {

// T or const T.
template <class T, class Struct>
concept Like = std::same_as<std::remove_const_t<T>, Struct>;

// Fields that are equal to those of `usual` are left out.
template <class T>
Table put_fields(const T& object, const T& usual = {});
template <class T>
void take_fields(Reader& reader, T& object);

// Calls f(word, enumerator) for each pair of a list, which may have the two in either order.
template <class Enum, class List, class F>
void for_each_word(const List& list, const F& f) {
  for (const auto& [a, b] : list)
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(a)>, Enum>)
      f(std::string_view(b), a);
    else
      f(std::string_view(a), b);
}

template <class Enum>
const Choices<Enum>& choices_of() {
  static const Choices<Enum> kChoices = [] {
    Choices<Enum> list;
    for (int i = 0; to_string(static_cast<Enum>(i)) != "?"; ++i)
      list.emplace_back(to_string(static_cast<Enum>(i)), static_cast<Enum>(i));
    return list;
  }();
  return kChoices;
}

// A value of any kind that a field may have.
template <class T, class... Says>
Value put_value(const T& value, const Says&... says) {
  if constexpr (std::is_same_v<T, Value>) {
    return value;
  } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string> ||
                       std::is_same_v<T, Array> || std::is_same_v<T, Table>) {
    return {.data = value};
  } else if constexpr (std::is_integral_v<T>) {
    return {.data = static_cast<std::int64_t>(value)};
  } else if constexpr (std::is_floating_point_v<T>) {
    if (std::isfinite(value)) return {.data = value};
    return {.data = std::string(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf")};
  } else if constexpr (std::is_enum_v<T>) {
    std::string word;
    if constexpr (sizeof...(Says) == 0)
      word = to_string(value);
    else
      for_each_word<T>(says..., [&](std::string_view own, T at) {
        if (at == value) word = own;
      });
    return {.data = std::move(word)};
  } else if constexpr (requires { value.begin(); }) {
    Array array;
    array.reserve(value.size());
    for (const auto& item : value) array.push_back(put_value(item));
    return {.data = std::move(array)};
  } else {
    return {.data = put_fields(value)};
  }
}

class PutFields {
 public:
  template <class T, class... Says>
  void needed(std::string_view key, const T& value, const Says&... says) {
    table.emplace_back(std::string(key), put_value(value, says...));
    kept.push_back(true);
  }
  template <class T, class... Says>
  void always(std::string_view key, const T& value, const Says&... says) {
    needed(key, value, says...);
  }
  template <class T, class... Says>
  void operator()(std::string_view key, const T& value, const Says&... says) {
    needed(key, value, says...);
    kept.back() = false;
  }
  void by_hand(std::string_view key, const auto& value, const auto& put, const auto& /*take*/) {
    table.emplace_back(std::string(key), put(value));
    kept.push_back(true);
  }
  void check(const auto&) {}

  Table table;
  std::vector<bool> kept;  // by field: written even if it is equal to the usual one
};

template <class T>
Table put_fields(const T& object, const T& usual) {
  PutFields put, plain;
  visit_fields(put, object);
  if (std::find(put.kept.begin(), put.kept.end(), false) != put.kept.end())
    visit_fields(plain, usual);
  const Value known{.data = std::move(plain.table)};
  Table table;
  for (std::size_t i = 0; i < put.table.size(); ++i) {
    const Value* same = put.kept[i] ? nullptr : known.find(put.table[i].first);
    if (same == nullptr || !(*same == put.table[i].second))
      table.push_back(std::move(put.table[i]));
  }
  return table;
}

class TakeFields {
 public:
  explicit TakeFields(Reader& reader) : reader_(reader) {}

  template <class T, class... Says>
  void needed(std::string_view key, T& value, const Says&... says) {
    take<true>(key, value, says...);
  }
  template <class T, class... Says>
  void always(std::string_view key, T& value, const Says&... says) {
    take<false>(key, value, says...);
  }
  template <class T, class... Says>
  void operator()(std::string_view key, T& value, const Says&... says) {
    take<false>(key, value, says...);
  }
  void by_hand(std::string_view, auto& value, const auto& /*put*/, const auto& take) {
    value = take(reader_);
  }
  void check(const auto& check) { check(reader_); }

 private:
  template <bool kNeeded, class T, class... Says>
  void take(std::string_view key, T& value, const Says&... says) {
    if constexpr (std::is_same_v<T, bool>) {
      value = kNeeded ? reader_.required_bool(key) : reader_.optional_bool(key, value);
    } else if constexpr (std::is_same_v<T, std::uint64_t> && sizeof...(Says) == 0) {
      // All 64 bits, as a signed number.
      value = static_cast<T>(reader_.optional_int64(key, static_cast<std::int64_t>(value),
                                                    std::numeric_limits<std::int64_t>::min()));
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(whole<kNeeded>(key, value, std::int64_t{says}...));
    } else if constexpr (std::is_floating_point_v<T>) {
      if (sizeof...(Says) > 0 || !take_word(key, value))
        value = kNeeded ? reader_.required_double(key, says...)
                        : reader_.optional_double(key, value, says...);
    } else if constexpr (std::is_enum_v<T>) {
      if constexpr (sizeof...(Says) == 0)
        take_choice<kNeeded>(key, value, choices_of<T>());
      else
        take_choice<kNeeded>(key, value, choices_in<T>(says...));
    } else if constexpr (std::is_same_v<T, std::string> && sizeof...(Says) > 0) {
      take_choice<kNeeded>(key, value, words_in(says...));
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = kNeeded ? reader_.required_string(key) : reader_.optional_string(key, value);
    } else if constexpr (requires { value.begin(); }) {
      take_list<kNeeded>(key, value, says...);
    } else {
      Reader own = kNeeded ? reader_.required_table(key) : reader_.optional_table(key);
      if (own.present()) take_fields(own, value);
    }
  }

  template <bool kNeeded, class T>
  std::int64_t whole(std::string_view key, T usual, std::int64_t least = 0,
                     std::int64_t most = std::is_same_v<T, int> ? Reader::kMaxInt
                                                                : Reader::kMaxInt64) {
    return kNeeded ? reader_.required_int64(key, least, most)
                   : reader_.optional_int64(key, static_cast<std::int64_t>(usual), least, most);
  }

  bool take_word(std::string_view key, double& number) {
    const Value* value = reader_.raw(key);
    const auto* word = value == nullptr ? nullptr : std::get_if<std::string>(&value->data);
    if (word == nullptr || (*word != "nan" && *word != "inf" && *word != "-inf")) return false;
    number = *word == "nan"   ? std::nan("")
             : *word == "inf" ? Reader::kInfinity
                              : -Reader::kInfinity;
    return true;
  }

  template <bool kNeeded, class T>
  void take_choice(std::string_view key, T& value, const Choices<T>& choices) {
    if (kNeeded)
      value = reader_.required_enum(key, choices);
    else if (reader_.has(key))  // without the key, no names need to be listed
      value = reader_.optional_enum(key, value, choices);
  }
  template <class Enum, class List>
  static Choices<Enum> choices_in(const List& list) {
    Choices<Enum> choices;
    for_each_word<Enum>(
        list, [&](std::string_view word, Enum value) { choices.emplace_back(word, value); });
    return choices;
  }
  template <class Words>
  static Choices<std::string> words_in(const Words& words) {
    Choices<std::string> choices;
    for (const char* word : words) choices.emplace_back(word, word);
    return choices;
  }

  template <bool kNeeded, class T, class... Says>
  void take_list(std::string_view key, std::vector<T>& list, const Says&... says) {
    const auto assign = [&](const auto& items) { list.assign(items.begin(), items.end()); };
    if constexpr (std::is_integral_v<T>) {
      assign(kNeeded ? reader_.required_ints(key, says...) : reader_.optional_ints(key, says...));
    } else if constexpr (std::is_floating_point_v<T>) {
      assign(kNeeded ? reader_.required_doubles(key, says...)
                     : reader_.optional_doubles(key, says...));
    } else if constexpr (std::is_same_v<T, std::string>) {
      assign(kNeeded ? reader_.required_strings(key) : reader_.optional_strings(key));
    } else {
      list.clear();
      for (Reader& own : kNeeded ? reader_.required_tables(key) : reader_.optional_tables(key))
        take_fields(own, list.emplace_back());
    }
  }

  Reader& reader_;
};

template <class T>
void take_fields(Reader& reader, T& object) {
  TakeFields take(reader);
  visit_fields(take, object);
  if (reader.present()) reader.finish();
}

// A whole object of one line. Throws Errors.
template <class T>
void parse_fields(std::string_view line, const std::string& what, T& object) {
  const Value root = parse_json(line, what);
  ErrorList errors;
  Reader reader(root, errors, Units::kRawSi);
  take_fields(reader, object);
  errors.throw_if_any();
}

}  // namespace nereus::spec
