// Quantities in the form that people write: "80 GiB", "450 GB/s", "200 Gbit/s", "3 us", "312
// TFLOP/s", "$98.32/h". A number without a unit is rejected, because its meaning is unknown. Units
// are case-sensitive, because Gbit and GB differ by 8.
//
//   const Parsed<Bytes> memory = parse_bytes("80 GiB");
//   if (!memory.value) errors.add(memory.code, memory.reason, where, memory.hint);
//   write_quantity(Bytes{85899345920});   // "80 GiB", which reads back as exactly that number
//
// Decimal (kB, MB, GB: powers of 1000) and binary (KiB, MiB, GiB: powers of 1024) prefixes are
// supported. The number is any finite decimal; the caller decides whether it may be zero or
// negative.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace nereus::spec {

template <class Q>
struct Parsed {
  std::optional<Q> value;
  // Without a value: "spec.missing-unit", "spec.unknown-unit" or "spec.bad-quantity", and the
  // reason.
  std::string code = {};
  std::string reason = {};
  std::string hint = {};
};

// Q must be one of Bytes, BytesPerSecond, Seconds, Flops, FlopsPerSecond, Watts, Usd, UsdPerHour.
template <class Q>
Parsed<Q> parse_quantity(std::string_view text);

// The quantity in the unit that gives the shortest text; parse_quantity returns the same number.
template <class Q>
std::string write_quantity(Q quantity);

// An example of such a quantity: "80 GiB".
template <class Q>
std::string_view example_quantity();

inline Parsed<Bytes> parse_bytes(std::string_view text) { return parse_quantity<Bytes>(text); }
inline Parsed<BytesPerSecond> parse_bytes_per_second(std::string_view text) {
  return parse_quantity<BytesPerSecond>(text);
}
inline Parsed<Seconds> parse_seconds(std::string_view text) {
  return parse_quantity<Seconds>(text);
}
inline Parsed<Flops> parse_flops(std::string_view text) { return parse_quantity<Flops>(text); }
inline Parsed<FlopsPerSecond> parse_flops_per_second(std::string_view text) {
  return parse_quantity<FlopsPerSecond>(text);
}
inline Parsed<Watts> parse_watts(std::string_view text) { return parse_quantity<Watts>(text); }
inline Parsed<Usd> parse_usd(std::string_view text) { return parse_quantity<Usd>(text); }
inline Parsed<UsdPerHour> parse_usd_per_hour(std::string_view text) {
  return parse_quantity<UsdPerHour>(text);
}

}  // namespace nereus::spec
