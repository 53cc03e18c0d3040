#include "worker/comm/combine.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace nereus::worker {
namespace {

// bf16 is the upper half of an fp32.
struct BFloat16 {
  std::uint16_t bits;
};

float widen(BFloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

// Written without branches, so that the compiler makes vectors of it.
BFloat16 round_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
  return {static_cast<std::uint16_t>(is_nan ? 0x7fc0U : rounded)};
}

// fp16: 1 sign, 5 exponent (bias 15), 10 fraction bits.
struct Float16 {
  std::uint16_t bits;
};

float widen(Float16 value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16;
  const std::uint32_t magnitude = value.bits & 0x7fffU;
  if (magnitude >= 0x7c00U)  // infinity and NaN
    return std::bit_cast<float>(sign | 0x7f800000U | ((magnitude & 0x3ffU) << 13));
  // The bits as an fp32 are too small by a factor of 2^112, also if fp16 is subnormal.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(scaled));
}

Float16 round_to_float16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return {static_cast<std::uint16_t>(sign | 0x7e00U)};
  if (magnitude >= 0x477ff000U) return {static_cast<std::uint16_t>(sign | 0x7c00U)};
  if (magnitude < 0x38800000U) {  // subnormal: fp32 rounds at 2^-24 when 0.5 is added
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return {static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) & 0xffffU))};
  }
  const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U) - 0x38000000U;
  return {static_cast<std::uint16_t>(sign | (rounded >> 13))};
}

template <typename T>
T sum(T a, T b) {
  return static_cast<T>(a + b);
}
BFloat16 sum(BFloat16 a, BFloat16 b) { return round_to_bfloat16(widen(a) + widen(b)); }
Float16 sum(Float16 a, Float16 b) { return round_to_float16(widen(a) + widen(b)); }

// NaN wins, from either side.
template <typename T>
T larger(T a, T b) {
  return (a != a || a >= b) ? a : b;
}
BFloat16 larger(BFloat16 a, BFloat16 b) {
  const float x = widen(a), y = widen(b);
  return (x != x || x >= y) ? a : b;
}
Float16 larger(Float16 a, Float16 b) {
  const float x = widen(a), y = widen(b);
  return (x != x || x >= y) ? a : b;
}

struct Sum {
  template <typename T>
  T operator()(T a, T b) const {
    return sum(a, b);
  }
};
struct Larger {
  template <typename T>
  T operator()(T a, T b) const {
    return larger(a, b);
  }
};

template <typename T, typename Combine>
void combine_as(void* into, const void* from, std::size_t count, Combine combine) {
  T* __restrict__ a = static_cast<T*>(into);
  const T* __restrict__ b = static_cast<const T*>(from);
  for (std::size_t i = 0; i < count; ++i) a[i] = combine(a[i], b[i]);
}

template <typename Combine>
void combine(Element element, void* into, const void* from, std::size_t count, Combine combine) {
  switch (element) {
    case Element::kFloat64:
      return combine_as<double>(into, from, count, combine);
    case Element::kFloat32:
      return combine_as<float>(into, from, count, combine);
    case Element::kFloat16:
      return combine_as<Float16>(into, from, count, combine);
    case Element::kBFloat16:
      return combine_as<BFloat16>(into, from, count, combine);
    case Element::kInt64:
      return combine_as<std::int64_t>(into, from, count, combine);
    case Element::kInt32:
      return combine_as<std::int32_t>(into, from, count, combine);
    case Element::kInt16:
      return combine_as<std::int16_t>(into, from, count, combine);
    case Element::kInt8:
      return combine_as<std::int8_t>(into, from, count, combine);
    case Element::kByte:
      return combine_as<std::uint8_t>(into, from, count, combine);
  }
}

}  // namespace

void add_into(Element element, void* into, const void* from, std::size_t count) {
  combine(element, into, from, count, Sum{});
}

void max_into(Element element, void* into, const void* from, std::size_t count) {
  combine(element, into, from, count, Larger{});
}

}  // namespace nereus::worker
