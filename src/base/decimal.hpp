// Converts text to a double, in any locale. Uses std::from_chars if the standard library has it for
// floating point (libstdc++ 11; libc++ 20), else strtod on the characters that from_chars would
// accept. Both round correctly, so the numbers are the same.
//
//   double value = 0;
//   const auto [end, code] = read_decimal(first, last, value);   // like std::from_chars
//
// As with std::from_chars: no leading space, no '+', only '-' as a sign; "inf" and "nan" are
// accepted in any case; if the number is out of range, `value` is unchanged.
#pragma once

#include <charconv>

namespace nereus {

std::from_chars_result read_decimal(const char* first, const char* last, double& value);

namespace decimal {
// The implementation without from_chars, for tests that compare the two.
std::from_chars_result read_by_strtod(const char* first, const char* last, double& value);
}  // namespace decimal

}  // namespace nereus
