// Random clusters for property tests, printed readably in failures.
//
//   const Cluster cluster = *random_cluster();     // inside rc::check
#pragma once

#include <rapidcheck.h>

#include <cmath>
#include <ostream>
#include <string>

#include "cluster/cluster.hpp"
#include "cluster/write_cluster.hpp"

namespace nereus::cluster {

inline void PrintTo(const Cluster& cluster, std::ostream* out) { *out << cluster_to_json(cluster); }

// A positive number over many orders of magnitude, which is not round in any unit.
template <class Q>
Q random_quantity(double least, double most) {
  const double at = *rc::gen::inRange(0, 1'000'000) * 1e-6;
  return Q{least * std::pow(most / least, at)};
}

template <class Q>
Q random_or_zero(double least, double most) {
  return *rc::gen::arbitrary<bool>() ? random_quantity<Q>(least, most) : Q{};
}

inline std::string random_name() {
  return *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::oneOf(
      rc::gen::inRange<char>('a', 'z'), rc::gen::elementOf(std::string(" \"\\+.-/")))));
}

inline std::string random_text() {
  return *rc::gen::arbitrary<bool>() ? random_name() : std::string();
}

inline NetworkLevel random_level(int size) {
  NetworkLevel level;
  level.name = random_name();
  level.kind = static_cast<LinkKind>(*rc::gen::inRange(0, 8));
  level.topology = static_cast<TopologyKind>(*rc::gen::inRange(0, 6));
  level.size = size;
  level.bandwidth = random_or_zero<BytesPerSecond>(1e6, 1e13);
  level.latency = random_or_zero<Seconds>(1e-9, 1);
  level.oversubscription = 1 + *rc::gen::inRange(0, 1000) * 0.013;
  return level;
}

inline Device random_device() {
  Device device;
  device.name = random_name();
  device.short_name = random_name();
  device.memory = random_quantity<Bytes>(1e9, 1e12);
  device.usable_memory = random_or_zero<Bytes>(1e9, 1e12);
  device.memory_bandwidth = random_quantity<BytesPerSecond>(1e9, 1e13);
  for (FlopsPerSecond& peak : device.peak) peak = random_or_zero<FlopsPerSecond>(1e9, 1e17);
  device.peak[4] = random_quantity<FlopsPerSecond>(1e12, 1e16);
  device.host_link = random_or_zero<BytesPerSecond>(1e9, 1e12);
  device.power = random_or_zero<Watts>(10, 2000);
  device.num_units = *rc::gen::inRange(0, 300);
  device.source = random_text();
  return device;
}

inline Node random_node() {
  Node node;
  node.name = random_name();
  node.provider = random_text();
  node.device = random_device();
  node.num_devices = *rc::gen::inRange(1, 17);
  node.nvlink_domain = node.num_devices * *rc::gen::inRange(1, 4);
  node.inside = random_level(node.num_devices);
  node.network = random_or_zero<BytesPerSecond>(1e8, 1e13);
  node.network_latency = random_or_zero<Seconds>(1e-9, 1);
  node.network_kind = static_cast<LinkKind>(*rc::gen::inRange(0, 8));
  for (const char* name : {"host", "nvme", "expanded"})
    if (*rc::gen::arbitrary<bool>())
      node.tiers.push_back({name, random_quantity<Bytes>(1e9, 1e15),
                            random_or_zero<BytesPerSecond>(1e6, 1e12),
                            random_or_zero<Seconds>(1e-9, 1)});
  node.vcpus = *rc::gen::inRange(0, 512);
  node.price = {random_or_zero<UsdPerHour>(0.01, 1000), random_or_zero<UsdPerHour>(0.01, 1000),
                *rc::gen::arbitrary<bool>() ? "2026-08-22" : "", random_text(), random_text()};
  node.source = random_text();
  return node;
}

// One to three groups under zero to three levels. Some lack numbers that a prediction needs.
inline rc::Gen<Cluster> random_cluster() {
  return rc::gen::exec([] {
    Cluster cluster;
    cluster.name = random_name();
    const int num_groups = *rc::gen::inRange(1, 4);
    for (int i = 0; i < num_groups; ++i)
      cluster.groups.push_back({*rc::gen::inRange(1, 40), random_node()});
    const int num_levels = *rc::gen::inRange(0, 4);
    for (int i = 0; i < num_levels; ++i)
      cluster.levels.push_back(random_level(i + 1 < num_levels ? *rc::gen::inRange(1, 9) : 0));
    return cluster;
  });
}

}  // namespace nereus::cluster
