// Quantiles of Student's t distribution for a whole number of degrees of freedom: how uncertain a
// mean of few measurements is.
//
//   half_width = t_quantile(1 - 0.05 / 2, n - 1) * deviation / sqrt(n);      // 95 %, two sides
//
// Computes the distribution with its finite sums (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4),
// and inverts it by bisection.
#pragma once

namespace nereus {

double t_distribution(double t, int degrees);        // P(T <= t)
double t_quantile(double probability, int degrees);  // 0 < probability < 1, degrees >= 1

}  // namespace nereus
