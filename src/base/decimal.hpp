// Text as a double, whatever the locale. std::from_chars where the standard library has it for
// floating point (libstdc++ 11; libc++ not before 20), else strtod on the characters that
// from_chars would take. Both are correctly rounded, so the numbers are the same.
//
//   double value = 0;
//   const auto [end, code] = read_decimal(first, last, value);   // as std::from_chars
//
// As there: no leading space, no '+', a sign '-' only; "inf" and "nan" in any case are taken; out
// of range leaves the value alone.
#pragma once

#include <charconv>

namespace nereus {

std::from_chars_result read_decimal(const char* first, const char* last, double& value);

namespace decimal {
// The way without from_chars, for tests that compare the two.
std::from_chars_result read_by_strtod(const char* first, const char* last, double& value);
}  // namespace decimal

}  // namespace nereus
