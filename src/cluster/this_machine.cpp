#include "cluster/this_machine.hpp"

#include <unistd.h>

namespace nereus::cluster {

namespace {

constexpr const char* kName = "this-machine";
constexpr const char* kCpu = "CPU";
constexpr const char* kGpu = "GPU";

// Of one core: two FMA units of eight fp32 lanes at 2.5 GHz; half of it in fp64. Without matrix
// units for them, half-width numbers are computed as fp32.
constexpr double kCoreRate = 2 * 8 * 2 * 2.5e9;
constexpr double kCoreBandwidth = 10e9;     // bytes per second from memory
constexpr double kLoopback = 2e9;           // bytes per second between two processes
constexpr double kLoopbackLatency = 30e-6;  // seconds

// Of a GPU nobody described: the round figures of a data-centre part.
constexpr double kGpuRate = 100e12;
constexpr double kGpuMemory = 80 * kGiB;
constexpr double kGpuBandwidth = 1e12;
constexpr double kHostLink = 25e9;      // bytes per second, one way: PCIe 4 x16
constexpr double kHostLatency = 10e-6;  // seconds

double memory_of_machine() {
  const double pages = static_cast<double>(sysconf(_SC_PHYS_PAGES));
  const double size = static_cast<double>(sysconf(_SC_PAGESIZE));
  return pages > 0 && size > 0 ? pages * size : kGiB;
}

void set_peak(Device& device, Precision precision, double rate) {
  device.peak[static_cast<std::size_t>(precision)] = FlopsPerSecond{rate};
}

}  // namespace

Cluster this_machine(int ranks, std::string_view device_kind) {
  Cluster cluster;
  cluster.name = kName;
  NodeGroup group;
  group.count = 1;
  Node& node = group.node;
  node.name = kName;
  node.num_devices = ranks;
  node.nvlink_domain = ranks;
  node.source = "nominal rates; memory as the system states it";
  Device& device = node.device;
  const bool gpu = device_kind == "cuda";
  device.name = device.short_name = gpu ? kGpu : kCpu;
  const double rate = gpu ? kGpuRate : kCoreRate;
  set_peak(device, Precision::kFp64, rate / 2);
  for (const Precision p : {Precision::kFp32, Precision::kBf16, Precision::kFp16})
    set_peak(device, p, rate);
  device.memory = Bytes{gpu ? kGpuMemory : memory_of_machine() / ranks};
  device.memory_bandwidth = BytesPerSecond{gpu ? kGpuBandwidth : kCoreBandwidth};
  device.source = node.source;
  if (gpu)
    node.tiers.push_back(
        {"host", Bytes{memory_of_machine()}, BytesPerSecond{kHostLink}, Seconds{kHostLatency}});
  node.inside.name = "loopback";
  node.inside.bandwidth = BytesPerSecond{kLoopback};
  node.inside.latency = Seconds{kLoopbackLatency};
  cluster.groups.push_back(group);
  return cluster;
}

std::string_view own_device_kind(std::string_view device_name) {
  return device_name == kCpu ? "cpu" : device_name == kGpu ? "cuda" : "";
}

bool is_nominal(const Cluster& cluster) { return cluster.name == kName; }

}  // namespace nereus::cluster
