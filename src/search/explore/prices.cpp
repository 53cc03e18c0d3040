#include "search/explore/prices.hpp"

#include <algorithm>

#include "search/regular/objective.hpp"

namespace nereus::explore {

Running running(const Prices& prices, const cluster::Cluster& own,
                const cluster::Cluster& cluster) {
  const cluster::NodeGroup& group = cluster.groups.front();
  const double devices = group.num_devices();
  double usd = 0;
  double watts = prices.node_watts * group.count;
  bool known = true;
  if (prices.from_catalogue) {
    usd = cluster.price_on_demand().value / 3600;
    known = usd > 0;
  } else {
    usd = prices.node_usd_per_s * group.count + prices.device_usd_per_s * devices;
  }
  for (int i = 0; i < kNumAxes; ++i) {
    const auto index = static_cast<std::size_t>(i);
    if (prices.usd_per_s[index] == 0 && prices.watts[index] == 0) continue;
    const auto axis = static_cast<Axis>(i);
    const double amount = get(cluster, axis);
    const double more = amount - get(own, axis);
    usd += devices * prices.usd_per_s[index] * (prices.from_catalogue ? more : amount);
    watts += devices * prices.watts[index] * more;
  }
  Running out;
  out.device_watts = devices * group.node.device.power.value;
  out.other_watts = watts;
  if (prices.usd_per_joule > 0) usd += prices.usd_per_joule * out.watts();
  out.usd_per_s = known ? std::max(0.0, usd) : 0;
  return out;
}

double joules(const Running& running, double step, double busy) {
  return search::value_of(search::Objective::kEnergy, step, busy, {0, running.device_watts}) +
         running.other_watts * step;
}

}  // namespace nereus::explore
