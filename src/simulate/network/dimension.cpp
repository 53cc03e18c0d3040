#include "simulate/network/dimension.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/format.hpp"

namespace nereus::simulate {

namespace {

bool layered(DimensionKind kind) {
  return kind == DimensionKind::kFatTree || kind == DimensionKind::kRails ||
         kind == DimensionKind::kDragonfly;
}

bool carries(double bandwidth) { return bandwidth > 0 && std::isfinite(bandwidth); }

}  // namespace

std::string_view to_string(DimensionKind kind) {
  constexpr std::string_view kNames[] = {"ring",     "fully-connected", "switch",
                                         "fat-tree", "rails",           "dragonfly"};
  return kNames[static_cast<int>(kind)];
}

std::string_view to_string(LinkClass link) {
  constexpr std::string_view kNames[] = {"forward link",    "backward link", "direct link",
                                         "link up",         "link down",     "leaf's uplink",
                                         "leaf's downlink", "local link",    "global link"};
  return kNames[static_cast<int>(link)];
}

int Dimension::below_switch() const { return layered(kind) && leaf > 0 ? leaf : size; }

int Dimension::num_groups() const {
  return kind == DimensionKind::kDragonfly ? size / (leaf * group) : 1;
}

double capacity(const Dimension& d, LinkClass link) {
  switch (link) {
    case LinkClass::kLeafUp:
    case LinkClass::kLeafDown:
      return d.bandwidth * d.below_switch() / d.oversubscription;
    case LinkClass::kLocal:
      return d.local_bandwidth > 0 ? d.local_bandwidth : d.bandwidth;
    case LinkClass::kGlobal:
      return d.global_bandwidth > 0 ? d.global_bandwidth : d.bandwidth;
    default:
      return d.bandwidth;
  }
}

void check(const Dimension& d, std::size_t index, ErrorList& errors) {
  const auto wrong = [&](std::string message, std::string hint = {}) {
    errors.add("network.impossible", fmt::format("dimension {}: {}", index + 1, message), {},
               std::move(hint));
  };
  if (d.size < 1) wrong(fmt::format("{} ranks", d.size), "at least 1");
  if (!carries(d.bandwidth))
    wrong(fmt::format("a bandwidth of {:g} bytes per second carries nothing", d.bandwidth),
          "more than 0, and finite");
  if (!(d.latency >= 0) || !(d.latency < 1e3))
    wrong(fmt::format("a latency of {:g} s", d.latency), "0 or more");
  if (!layered(d.kind)) return;
  const bool one_switch = d.kind == DimensionKind::kRails && d.leaf == 0;
  if (!one_switch && (d.leaf < 1 || d.size % d.leaf != 0))
    wrong(fmt::format("leaves of {} do not divide {}", d.leaf, counted(d.size, "rank")));
  if (!(d.oversubscription >= 1) || !std::isfinite(d.oversubscription))
    wrong(fmt::format("oversubscription {:g}", d.oversubscription), "1 or more");
  if (d.kind == DimensionKind::kRails && index == 0)
    wrong("rails join the same slot of several nodes, and there is no node before them",
          "first the dimension inside a node, then rails; switch where nodes have one rank");
  if (d.kind != DimensionKind::kDragonfly) return;
  const int routers = d.leaf > 0 ? d.size / d.leaf : 0;
  if (d.group < 1 || (routers > 0 && routers % d.group != 0))
    wrong(fmt::format("groups of {} do not divide {}", d.group, counted(routers, "router")));
  for (const double rate : {d.local_bandwidth, d.global_bandwidth})
    if (rate != 0 && !carries(rate))
      wrong(fmt::format("a bandwidth of {:g} bytes per second carries nothing", rate));
}

int gateway(const Dimension& dragonfly, int from, int to) {
  const int g = dragonfly.num_groups();
  const int links = (g - 2) / dragonfly.group + 1;  // ceil((g - 1) / group)
  return (to - from - 1 + g) % g / links;
}

}  // namespace nereus::simulate
