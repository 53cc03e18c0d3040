#include "worker/ops/gelu_loops.hpp"

#include <bit>

namespace nereus::worker {

namespace {

constexpr float kRoot = 0.7978845608028654f;  // sqrt(2 / pi)
constexpr float kCube = 0.044715f;

inline float fast_exp(float x) {
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  // Adding and taking off 1.5 * 2^23 rounds to the nearest whole number.
  constexpr float kRound = 12582912.0f;
  const float shifted = x * 1.44269504088896341f + kRound;
  const float k = shifted - kRound;
  const float r = (x - k * 0.693359375f) + k * 2.12194440e-4f;  // ln 2 in two parts
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const std::int32_t exponent = std::bit_cast<std::int32_t>(shifted) << 23;
  return std::bit_cast<float>(std::bit_cast<std::int32_t>(p) + exponent);
}

inline float share(float x) {
  const float u = kRoot * (x + kCube * x * x * x);
  return 1.0f / (1.0f + fast_exp(-2.0f * u));
}

}  // namespace

void gelu_forward(const float* __restrict x, float* __restrict y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] * share(x[i]);
}

void gelu_backward(const float* __restrict x, const float* __restrict gy, float* __restrict gx,
                   std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float s = share(x[i]);
    const float slope = 2.0f * kRoot * (1.0f + 3.0f * kCube * x[i] * x[i]);
    gx[i] = gy[i] * (s + x[i] * slope * s * (1.0f - s));
  }
}

}  // namespace nereus::worker
