#include "simulate/network/sharing.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"

namespace nereus::simulate {

Sharing::Sharing(std::vector<double> capacities)
    : capacities_(std::move(capacities)), left_(capacities_.size()), weight_(capacities_.size()) {
  for (const double capacity : capacities_) NEREUS_CHECK(capacity > 0, "a link carries something");
}

void Sharing::solve(const std::vector<const Route*>& flows, std::vector<double>& rates) {
  rates.assign(flows.size(), -1);
  touched_.clear();
  for (const Route* route : flows) {
    for (const LinkUse& use : *route) {
      const auto l = static_cast<std::size_t>(use.link);
      if (weight_[l] == 0) {
        touched_.push_back(use.link);
        left_[l] = capacities_[l];
      }
      weight_[l] += use.weight;
    }
  }
  std::size_t growing = flows.size();
  while (growing > 0) {
    double share = std::numeric_limits<double>::infinity();
    for (const int link : touched_) {
      const auto l = static_cast<std::size_t>(link);
      if (weight_[l] > 0) share = std::min(share, left_[l] / weight_[l]);
    }
    // All links that fill at this share do so in this round; rounding must not split equals.
    const double full = share * (1 + 1e-9);
    const auto is_full = [&](const LinkUse& use) {
      const auto l = static_cast<std::size_t>(use.link);
      return left_[l] <= full * weight_[l];
    };
    std::vector<std::size_t> frozen;
    for (std::size_t f = 0; f < flows.size(); ++f)
      if (rates[f] < 0 && std::any_of(flows[f]->begin(), flows[f]->end(), is_full))
        frozen.push_back(f);
    NEREUS_CHECK(!frozen.empty(), "the fullest link has a flow");
    for (const std::size_t f : frozen) {
      rates[f] = share;
      for (const LinkUse& use : *flows[f]) {
        const auto l = static_cast<std::size_t>(use.link);
        left_[l] = std::max(0.0, left_[l] - use.weight * share);
        weight_[l] -= use.weight;
        if (weight_[l] < 1e-9) weight_[l] = 0;
      }
    }
    growing -= frozen.size();
  }
  for (const int link : touched_) weight_[static_cast<std::size_t>(link)] = 0;
}

}  // namespace nereus::simulate
