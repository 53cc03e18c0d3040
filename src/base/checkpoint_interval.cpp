#include "base/checkpoint_interval.hpp"

#include <cmath>

namespace nereus {

double young_interval(double cost, double between) { return std::sqrt(2 * cost * between); }

double daly_interval(double cost, double between) {
  if (cost >= 2 * between) return between;
  return std::sqrt(2 * cost * between) *
             (1 + std::sqrt(cost / (2 * between)) / 3 + cost / (18 * between)) -
         cost;
}

double daly_useful_share(double interval, double cost, double restart, double between) {
  return interval /
         (between * std::exp(restart / between) * std::expm1((interval + cost) / between));
}

}  // namespace nereus
