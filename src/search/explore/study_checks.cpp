// Checks of a whole study: contradictions, and fields without effect.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/format.hpp"
#include "search/explore/study_sections.hpp"

namespace nereus::explore {

using spec::Reader;

namespace {

bool has_axis(const Study& study, Axis axis) {
  return std::any_of(study.axes.begin(), study.axes.end(),
                     [&](const StudyAxis& own) { return own.axis == axis; });
}

// Axes that exclude one another or are of no effect.
void check_axes(const Study& study, Reader& file) {
  if (has_axis(study, Axis::kNodes) && has_axis(study, Axis::kDevices))
    file.fail("axes", "explore.contradiction", "nodes and devices both say how many there are",
              "one of the two");
  if (has_axis(study, Axis::kPrice) && !study.prices.from_catalogue)
    file.fail("axes", "explore.no-effect",
              "the axis price is of no effect where [prices] says what nodes and devices cost",
              "leave one of them out");
  for (const StudyMachine& machine : study.machines) {
    const bool any_expanded =
        has_axis(study, Axis::kExpandedMemory) || get(machine.cluster, Axis::kExpandedMemory) > 0;
    for (const Axis axis : {Axis::kExpandedBandwidth, Axis::kExpandedLatency})
      if (has_axis(study, axis) && !any_expanded)
        file.fail("axes", "explore.no-effect",
                  fmt::format("{} is of no effect: {} has no expanded memory", info(axis).name,
                              machine.name),
                  "expanded_memory = \"256 GB\"");
    if (any_expanded && !has_axis(study, Axis::kExpandedBandwidth) &&
        get(machine.cluster, Axis::kExpandedBandwidth) <= 0)
      file.fail("axes", "explore.no-bandwidth",
                fmt::format("the expanded memory of {} has no bandwidth", machine.name),
                "expanded_bandwidth = \"500 GB/s\"");
    for (const StudyAxis& own : study.axes)
      for (const AxisValue& value : own.values)
        if (value.relative && get(machine.cluster, own.axis) <= 0) {
          file.fail("axes", "explore.bad-value",
                    fmt::format("{} of {} is not known, so that no factor of it is",
                                info(own.axis).title, machine.name),
                    "a value with its unit");
          break;
        }
  }
}

// Goals need what they are counted in.
void check_goals(const Study& study, Reader& file) {
  const auto wants = [&](Goal goal) {
    return std::find(study.goals.begin(), study.goals.end(), goal) != study.goals.end() ||
           study.constraints.most[static_cast<std::size_t>(goal)] <
               Constraints{}.most[static_cast<std::size_t>(goal)];
  };
  for (const StudyMachine& machine : study.machines) {
    const Running own = running(study.prices, machine.cluster, machine.cluster);
    if (wants(Goal::kMoney) && own.usd_per_s <= 0 && !has_axis(study, Axis::kPrice))
      file.fail("goals", "explore.no-price",
                fmt::format("money counts, but no price of {} is known", machine.name),
                "[prices] device = \"$2/h\", or price = \"$2/h\" in the cluster");
    if (wants(Goal::kEnergy) && own.device_watts <= 0 && !has_axis(study, Axis::kPower))
      file.fail("goals", "explore.no-power",
                fmt::format("energy counts, but no power of {} is known", machine.name),
                "power = \"700 W\" in the cluster");
  }
}

// A study in which no cluster may be looked at.
void check_constraints(const Study& study, Reader& file) {
  const double most = study.constraints.most[static_cast<std::size_t>(Goal::kDevices)];
  double fewest = std::numeric_limits<double>::infinity();
  for (std::size_t m = 0; m < study.machines.size(); ++m) {
    const cluster::Cluster& own = study.machines[m].cluster;
    double nodes = get(own, Axis::kNodes);
    double per_node = get(own, Axis::kDevicesPerNode);
    double devices = 0;
    for (const StudyAxis& axis : study.axes) {
      double least = std::numeric_limits<double>::infinity();
      for (const AxisValue& value : axis.values) least = std::min(least, value.on(own, axis.axis));
      if (axis.axis == Axis::kNodes) nodes = least;
      if (axis.axis == Axis::kDevicesPerNode) per_node = least;
      if (axis.axis == Axis::kDevices) devices = least;
    }
    fewest = std::min(fewest, devices > 0 ? devices : nodes * per_node);
  }
  if (fewest > most)
    file.fail("constraints", "explore.contradiction",
              fmt::format("at most {} allowed, and the smallest cluster has {:g}",
                          counted(fmt::format("{:g}", most), "device is", "devices are"), fewest),
              fmt::format("devices = {:g}, or smaller clusters", fewest));
  bool any = study.variants.empty();
  for (const Variant& variant : study.variants)
    if (variant.unbuildable.empty() &&
        variant.model.parameters() >= study.constraints.parameters_low &&
        variant.model.parameters() <= study.constraints.parameters_high)
      any = true;
  if (!any)
    file.fail("constraints", "explore.contradiction",
              fmt::format("no model has {:g} to {:g} parameters; the first has {:g}",
                          study.constraints.parameters_low, study.constraints.parameters_high,
                          study.variants.front().model.parameters()),
              "wider limits, or other shapes");
}

void check_precisions(const Study& study, Reader& file) {
  std::set<std::pair<std::string, cluster::Precision>> said;
  for (const Variant& variant : study.variants)
    for (const StudyMachine& machine : study.machines)
      if (variant.unbuildable.empty() &&
          !machine.cluster.groups.front().node.device.has(variant.precision) &&
          said.emplace(machine.name, variant.precision).second)
        file.fail(
            "workload", "explore.precision",
            fmt::format("the devices of {} have no {}", machine.name, to_string(variant.precision)),
            "precision = \"bf16\", or other devices");
}

}  // namespace

void check_study(const Study& study, Reader& file) {
  check_axes(study, file);
  check_goals(study, file);
  check_constraints(study, file);
  check_precisions(study, file);
}

}  // namespace nereus::explore
