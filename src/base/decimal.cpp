#include "base/decimal.hpp"

#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

namespace nereus {
namespace {

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

const char* skip_digits(const char* at, const char* last) {
  while (at < last && is_decimal_digit(*at)) ++at;
  return at;
}

// The end of `word` at `at` in any case, or `at`.
const char* skip_word(const char* at, const char* last, std::string_view word) {
  const char* c = at;
  for (const char letter : word) {
    if (c == last || (*c | 0x20) != letter) return at;
    ++c;
  }
  return c;
}

// The end of the digits, point and exponent at `at`; `at` if there is no number.
const char* end_of_number(const char* at, const char* last) {
  const char* const whole = skip_digits(at, last);
  const char* end = whole;
  if (end < last && *end == '.') {
    const char* const fraction = skip_digits(end + 1, last);
    if (whole == at && fraction == end + 1) return at;  // only a point
    end = fraction;
  } else if (whole == at) {
    return at;
  }
  if (end < last && (*end | 0x20) == 'e') {
    const char* exponent = end + 1;
    if (exponent < last && (*exponent == '+' || *exponent == '-')) ++exponent;
    const char* const past = skip_digits(exponent, last);
    if (past > exponent) end = past;
  }
  return end;
}

}  // namespace

std::from_chars_result decimal::read_by_strtod(const char* first, const char* last, double& value) {
  const char* const begin = first < last && *first == '-' ? first + 1 : first;
  const char* end = skip_word(begin, last, "infinity");
  if (end == begin) end = skip_word(begin, last, "inf");
  if (end == begin) end = skip_word(begin, last, "nan");
  const bool is_word = end != begin;
  if (!is_word) end = end_of_number(begin, last);
  if (end == begin) return {first, std::errc::invalid_argument};
  const std::string text(first, end);
  const double read = std::strtod(text.c_str(), nullptr);
  if (!is_word) {
    const bool is_zero =
        text.substr(0, text.find_first_of("eE")).find_first_of("123456789") == std::string::npos;
    if (std::isinf(read) || (read == 0 && !is_zero)) return {end, std::errc::result_out_of_range};
  }
  value = read;
  return {end, std::errc()};
}

std::from_chars_result read_decimal(const char* first, const char* last, double& value) {
#ifdef __cpp_lib_to_chars
  return std::from_chars(first, last, value);
#else
  return decimal::read_by_strtod(first, last, value);
#endif
}

}  // namespace nereus
