// GELU in its tanh form (Hendrycks 2016, 1606.08415) on plain memory, written so that compilers can
// vectorize it. On some machines libtorch 1.13 calls the C library's tanh for each element.
//
//   y  = x (1 + tanh u) / 2 = x s,  s = 1 / (1 + exp(-2 u)),  u = sqrt(2 / pi) (x + 0.044715 x^3)
//   y' = s + 2 x u' s (1 - s)
//
// exp is 2^k times a polynomial of degree 6 on [-ln 2 / 2, ln 2 / 2] (coefficients 1 / n!, the last
// two adjusted to balance the error); its relative error is below 2e-7.
#pragma once

#include <cstdint>

namespace nereus::worker {

void gelu_forward(const float* x, float* y, std::int64_t count);
void gelu_backward(const float* x, const float* gy, float* gx, std::int64_t count);

}  // namespace nereus::worker
