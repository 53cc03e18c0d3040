#include "search/regular/objective.hpp"

namespace nereus::search {

namespace {
constexpr double kWaitingShare = 0.4;  // of the rated power
}

std::string_view to_string(Objective objective) {
  switch (objective) {
    case Objective::kTime:
      return "time";
    case Objective::kMoney:
      return "money";
    case Objective::kEnergy:
      return "energy";
  }
  return "";
}

Rates rates_of(const cluster::Cluster& cluster) {
  Rates rates;
  rates.usd_per_s = cluster.price_on_demand().value / 3600;
  for (const cluster::NodeGroup& group : cluster.groups) {
    const double power = group.node.device.power.value;
    if (power <= 0) return {rates.usd_per_s, 0};
    rates.watts += group.num_devices() * power;
  }
  return rates;
}

bool is_known(Objective objective, const Rates& rates) {
  switch (objective) {
    case Objective::kTime:
      return true;
    case Objective::kMoney:
      return rates.usd_per_s > 0;
    case Objective::kEnergy:
      return rates.watts > 0;
  }
  return false;
}

double value_of(Objective objective, double step, double busy, const Rates& rates) {
  switch (objective) {
    case Objective::kTime:
      return step;
    case Objective::kMoney:
      return rates.usd_per_s * step;
    case Objective::kEnergy:
      return rates.watts * (kWaitingShare * step + (1 - kWaitingShare) * busy);
  }
  return step;
}

}  // namespace nereus::search
