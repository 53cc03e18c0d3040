#include "base/student_t.hpp"

#include <cmath>
#include <numbers>

#include "base/error.hpp"

namespace nereus {

namespace {

// P(|T| <= t), t >= 0: with the angle theta = atan(t / sqrt(degrees)).
double within(double t, int degrees) {
  const double theta = std::atan(t / std::sqrt(degrees));
  const double sine = std::sin(theta), cosine = std::cos(theta);
  double term = degrees % 2 == 1 ? cosine : 1, sum = 0;
  for (int k = degrees % 2 == 1 ? 3 : 2; k <= degrees; k += 2) {
    sum += term;
    term *= cosine * cosine * (k - 1) / k;
  }
  return degrees % 2 == 1 ? 2 / std::numbers::pi * (theta + sine * sum) : sine * sum;
}

}  // namespace

double t_distribution(double t, int degrees) {
  return t >= 0 ? 0.5 + within(t, degrees) / 2 : 0.5 - within(-t, degrees) / 2;
}

double t_quantile(double probability, int degrees) {
  NEREUS_CHECK(probability > 0 && probability < 1 && degrees >= 1, "no such quantile");
  if (probability < 0.5) return -t_quantile(1 - probability, degrees);
  double low = 0, high = 1;
  while (t_distribution(high, degrees) < probability) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (t_distribution(middle, degrees) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace nereus
