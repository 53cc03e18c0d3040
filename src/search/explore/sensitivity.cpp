#include "search/explore/sensitivity.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace nereus::explore {

namespace {

// The fastest plan of a result; null if there is none.
const Found* quickest(const PointResult& result) {
  return result.found.empty() ? nullptr : &result.found.front();
}

bool applies(const cluster::Cluster& cluster, Axis axis) {
  if (!is_resource(axis) || get(cluster, axis) <= 0) return false;
  // A lone device sends nothing, a lone node nothing out.
  if (axis == Axis::kInsideBandwidth) return cluster.groups.front().node.num_devices > 1;
  if (axis == Axis::kNetworkBandwidth) return cluster.num_nodes() > 1;
  return true;
}

}  // namespace

std::vector<Sensitivity> sensitivities(Explorer& explorer, const Study& study,
                                       const Answer& answer) {
  std::vector<Sensitivity> out;
  const std::optional<cluster::Cluster> here = cluster_at(study, answer.at);
  NEREUS_CHECK(here.has_value(), "an answer lies on a cluster");
  const int variant = answer.at.variant;
  const int machine = answer.at.machine;
  for (int i = 0; i < kNumAxes; ++i) {
    const auto axis = static_cast<Axis>(i);
    if (!applies(*here, axis)) continue;
    Sensitivity own;
    own.axis = axis;
    own.value = get(*here, axis);
    own.changed = kMore * own.value;
    own.step = answer.found.step;
    cluster::Cluster more = *here;
    set(more, axis, own.changed);
    const cost::Prediction kept = explorer.predict(variant, machine, more, answer.found.degrees);
    own.same_plan = kept.fits ? kept.step : 0;
    // Constraints are of the study's own clusters: more of a resource may pass a limit of power.
    const PointResult best = explorer.evaluate_unlimited(variant, machine, more);
    if (const Found* found = quickest(best)) {
      own.best_plan = found->step;
      own.degrees = found->degrees;
    }
    if (axis == Axis::kMemory) {
      const cluster::Device& device = here->groups.front().node.device;
      const double needed = answer.found.memory / (1 - study.headroom);
      // In nominal bytes, like the axis.
      own.surplus = std::max(
          0.0, (device.capacity().value - needed) * device.memory.value / device.capacity().value);
    }
    out.push_back(own);
  }
  return out;
}

std::vector<BreakEven> break_evens(Explorer& explorer, const Study& study, const Answer& answer) {
  std::vector<BreakEven> out;
  for (std::size_t a = 0; a < study.axes.size(); ++a) {
    const StudyAxis& axis = study.axes[a];
    if (!is_resource(axis.axis) || axis.values.size() < 2) continue;
    // In the order of the amounts, not of the file.
    std::vector<std::pair<double, int>> amounts;
    for (std::size_t v = 0; v < axis.values.size(); ++v) {
      Coordinates at = answer.at;
      at.axes[a] = static_cast<int>(v);
      amounts.emplace_back(axis_value(study, at, a), static_cast<int>(v));
    }
    std::sort(amounts.begin(), amounts.end());
    const double price = study.prices.usd_per_s[static_cast<std::size_t>(axis.axis)];
    const cluster::Cluster& own = study.machines[answer.at.machine].cluster;
    const double steps = study.variants[answer.at.variant].steps();

    BreakEven base;
    double base_usd = 0;
    for (std::size_t k = 0; k < amounts.size(); ++k) {
      Coordinates at = answer.at;
      at.axes[a] = amounts[k].second;
      const std::optional<cluster::Cluster> cluster = cluster_at(study, at);
      if (!cluster) continue;
      const PointResult result = explorer.evaluate_unlimited(at.variant, at.machine, *cluster);
      const Found* found = quickest(result);
      const std::optional<double> time =
          found != nullptr ? std::optional<double>(steps * found->step) : std::nullopt;
      const double usd = running(study.prices, own, *cluster).usd_per_s;
      if (k == 0) {
        base.axis = axis.axis;
        base.from = amounts[k].first;
        base.time_from = time;
        base_usd = usd;
        continue;
      }
      BreakEven next = base;
      next.to = amounts[k].first;
      next.time_to = time;
      next.needed = !next.time_from && next.time_to;
      const double more = (next.to - next.from) * cluster->num_devices();
      if (next.time_from && next.time_to && usd > 0 && base_usd > 0 && more > 0)
        next.unit_usd_per_s =
            (base_usd * *next.time_from / *next.time_to - (usd - price * more)) / more;
      out.push_back(next);
    }
  }
  return out;
}

}  // namespace nereus::explore
