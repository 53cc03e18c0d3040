#include "search/explore/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/format.hpp"

namespace nereus::explore {

std::string_view to_string(Goal goal) {
  switch (goal) {
    case Goal::kTime:
      return "time";
    case Goal::kMoney:
      return "money";
    case Goal::kEnergy:
      return "energy";
    case Goal::kDevices:
      return "devices";
  }
  return "";
}

Constraints::Constraints() {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  most.fill(kNone);
  watts = usd_per_hour = parameters_high = kNone;
  parameters_low = 0;
}

std::int64_t Study::num_points() const {
  std::int64_t count = 1;
  const auto times = [&](std::size_t size) {
    if (size == 0 || count > kMostPoints / static_cast<std::int64_t>(size))
      count = size == 0 ? 0 : kMostPoints;
    else
      count *= static_cast<std::int64_t>(size);
  };
  times(variants.size());
  times(machines.size());
  for (const StudyAxis& axis : axes) times(axis.values.size());
  return count;
}

Coordinates coordinates(const Study& study, std::int64_t point) {
  Coordinates at;
  at.axes.resize(study.axes.size());
  for (std::size_t i = study.axes.size(); i-- > 0;) {
    const auto size = static_cast<std::int64_t>(study.axes[i].values.size());
    at.axes[i] = static_cast<int>(point % size);
    point /= size;
  }
  const auto machines = static_cast<std::int64_t>(study.machines.size());
  at.machine = static_cast<int>(point % machines);
  at.variant = static_cast<int>(point / machines);
  return at;
}

std::int64_t point_at(const Study& study, const Coordinates& at) {
  std::int64_t point =
      std::int64_t{at.variant} * static_cast<std::int64_t>(study.machines.size()) + at.machine;
  for (std::size_t i = 0; i < study.axes.size(); ++i)
    point = point * static_cast<std::int64_t>(study.axes[i].values.size()) + at.axes[i];
  return point;
}

double axis_value(const Study& study, const Coordinates& at, std::size_t axis) {
  const StudyAxis& own = study.axes[axis];
  return own.values[at.axes[axis]].on(study.machines[at.machine].cluster, own.axis);
}

std::optional<cluster::Cluster> cluster_at(const Study& study, const Coordinates& at) {
  std::optional<cluster::Cluster> cluster = study.machines[at.machine].cluster;
  // Factors are of the machine as it was given, so all values are looked up before any is set.
  std::array<double, kNumAxes> values;
  std::array<bool, kNumAxes> given{};
  for (std::size_t i = 0; i < study.axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(study.axes[i].axis);
    values[axis] = axis_value(study, at, i);
    given[axis] = true;
  }
  for (int i = 0; i < kNumAxes; ++i) {
    const auto axis = static_cast<Axis>(i);
    const auto index = static_cast<std::size_t>(i);
    if (!given[index]) continue;
    const double value = values[index];
    const bool count = info(axis).unit == AxisUnit::kCount;
    constexpr double kMostDevices = 1 << 24;
    const double size =
        axis == Axis::kNodes ? value * cluster->groups.front().node.num_devices : value;
    if (count && (std::round(value) < 1 || std::abs(value - std::round(value)) > 1e-9 ||
                  size > kMostDevices))
      return std::nullopt;
    if (axis == Axis::kDevices &&
        static_cast<int>(std::lround(value)) % cluster->groups.front().node.num_devices != 0)
      return std::nullopt;
    set(*cluster, axis, value);
  }
  return cluster;
}

std::string point_name(const Study& study, const Coordinates& at) {
  std::vector<std::string> words;
  if (study.variants.size() > 1) words.push_back(study.variants[at.variant].name);
  if (study.machines.size() > 1 || study.axes.empty())
    words.push_back(study.machines[at.machine].name);
  for (std::size_t i = 0; i < study.axes.size(); ++i) {
    if (study.axes[i].values.size() < 2) continue;
    const Axis axis = study.axes[i].axis;
    const double value = axis_value(study, at, i);
    if (axis == Axis::kNodes || axis == Axis::kDevices)
      words.push_back(counted(value_text(axis, value), axis == Axis::kNodes ? "node" : "device"));
    else
      words.push_back(fmt::format("{} {}", info(axis).title, value_text(axis, value)));
  }
  if (words.empty()) words.push_back(study.machines[at.machine].name);
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace nereus::explore
