// What every fuzzer does: hand text to a parser, which may answer or throw Errors, and nothing
// else. An error without a code or a message counts as broken too. What a parser promises about its
// answer is checked with NEREUS_CHECK, which the fuzzer sees as a crash.
//
//   NEREUS_FUZZER(plan)(const std::uint8_t* data, std::size_t size) {
//     return nereus::fuzz(data, size, [](std::string_view text) { parse_plan(text); });
//   }
//
// All fuzzers are one program, which is the one that its file name says (fuzz_main.cpp): it is
// linked once, and files are compiled together.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.hpp"
#include "spec/value.hpp"

namespace nereus {

using FuzzTarget = int (*)(const std::uint8_t* data, std::size_t size);
bool add_fuzzer(std::string_view name, FuzzTarget target);

#define NEREUS_FUZZER(name)                                                     \
  static int fuzz_##name(const std::uint8_t*, std::size_t);                     \
  static const bool kHasFuzz_##name = ::nereus::add_fuzzer(#name, fuzz_##name); \
  static int fuzz_##name

inline void check_errors(const std::vector<Error>& list) {
  for (const Error& error : list) {
    NEREUS_CHECK(!error.code.empty() && !error.message.empty(), "an error that says nothing");
    NEREUS_CHECK(!to_text(error).empty(), "an error that cannot be shown");
    NEREUS_CHECK(error.where.line >= 0 && error.where.column >= 0, "a place that does not exist");
    NEREUS_CHECK(error.where.line_text.size() < 1000, "a line too long to show");
  }
}

template <class Parse>
int fuzz(const std::uint8_t* data, std::size_t size, Parse parse) {
  try {
    parse(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const Errors& errors) {
    NEREUS_CHECK(!errors.list().empty(), "thrown for nothing");
    check_errors(errors.list());
  }
  return 0;
}

// JSON cannot say NaN and infinity; everything else must come back as it was.
inline void check_round_trip(const spec::Value& value) {
  const std::string text = spec::to_json(value);
  const spec::Value back = spec::parse_json(text, "back.json");
  NEREUS_CHECK(spec::to_json(back) == text, "a tree changes on its way through JSON");
}

}  // namespace nereus
