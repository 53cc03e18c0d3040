#include "search/explore/study_slice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace nereus::explore {

namespace {

// Sizes of a layout, in the order of the rows.
using LayoutKey = std::tuple<int, int, int, int>;  // tp, pp, cp, ep

LayoutKey key_of(const plan::Degrees& d) { return {d.tp, d.pp, d.cp, d.ep}; }

}  // namespace

std::string layout_name(const plan::Degrees& d) {
  std::string text = fmt::format("tp {}", d.tp);
  if (d.pp > 1) text += fmt::format(" pp {}", d.pp);
  if (d.cp > 1) text += fmt::format(" cp {}", d.cp);
  if (d.ep > 1) text += fmt::format(" ep {}", d.ep);
  return text + fmt::format(" dp {}", d.dp);
}

Slice slice(Explorer& explorer, const Study& study, const Answer& answer, std::size_t axis,
            int most) {
  Slice out;
  out.axis = axis;
  const std::size_t columns = study.axes[axis].values.size();
  // Without dp, which is derived if the number of devices is the axis.
  std::map<LayoutKey, std::pair<plan::Degrees, std::vector<SliceCell>>> rows;
  for (std::size_t v = 0; v < columns; ++v) {
    Coordinates at = answer.at;
    at.axes[axis] = static_cast<int>(v);
    out.values.push_back(axis_value(study, at, axis));
    const std::optional<cluster::Cluster> cluster = cluster_at(study, at);
    if (!cluster) continue;
    for (const LayoutStep& own : explorer.layouts(at.variant, at.machine, *cluster, most)) {
      auto& [degrees, cells] = rows[key_of(own.degrees)];
      degrees = own.degrees;
      cells.resize(columns);
      cells[v] = {own.step, own.fits};
    }
  }
  // The quickest of them, by their best column; those that never fit come last.
  std::vector<std::pair<double, LayoutKey>> order;
  for (const auto& [key, row] : rows) {
    double best = 1e300;
    for (const SliceCell& cell : row.second)
      if (cell.step > 0) best = std::min(best, cell.fits ? cell.step : 1e150 * cell.step);
    order.emplace_back(best, key);
  }
  std::sort(order.begin(), order.end());
  if (order.size() > static_cast<std::size_t>(most)) order.resize(static_cast<std::size_t>(most));
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  for (const auto& [best, key] : order) {
    const auto& [degrees, cells] = rows[key];
    const bool devices_vary = study.axes[axis].axis == Axis::kNodes ||
                              study.axes[axis].axis == Axis::kDevices ||
                              study.axes[axis].axis == Axis::kDevicesPerNode;
    std::string name = layout_name(degrees);
    if (devices_vary) name.resize(name.rfind(" dp "));
    out.rows.push_back(name);
    out.cells.push_back(cells);
  }
  return out;
}

}  // namespace nereus::explore
