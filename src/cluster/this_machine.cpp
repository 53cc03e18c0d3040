#include "cluster/this_machine.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "base/error.hpp"

namespace nereus::cluster {

namespace {

constexpr const char* kName = "this-machine";
constexpr const char* kCpu = "CPU";
constexpr const char* kGpu = "GPU";

// Rate of one core: two FMA units with eight fp32 lanes at 2.5 GHz; half of it in fp64. Without
// matrix units for them, 16-bit numbers are computed in fp32.
constexpr double kCoreRate = 2 * 8 * 2 * 2.5e9;
constexpr double kCoreBandwidth = 10e9;     // bytes per second from memory
constexpr double kLoopback = 2e9;           // bytes per second between two processes
constexpr double kLoopbackLatency = 30e-6;  // seconds

// For an unknown GPU: round numbers of a data-center device.
constexpr double kGpuRate = 100e12;
constexpr double kGpuMemory = 80 * kGiB;
constexpr double kGpuBandwidth = 1e12;
constexpr double kHostLink = 25e9;      // bytes per second, one way: PCIe 4 x16
constexpr double kHostLatency = 10e-6;  // seconds

void set_peak(Device& device, Precision precision, double rate) {
  device.peak[static_cast<std::size_t>(precision)] = FlopsPerSecond{rate};
}

}  // namespace

double memory_of_machine() {
  const double pages = static_cast<double>(sysconf(_SC_PHYS_PAGES));
  const double size = static_cast<double>(sysconf(_SC_PAGESIZE));
  return pages > 0 && size > 0 ? pages * size : kGiB;
}

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

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

std::optional<int> ranks_here(std::string_view spec) {
  const std::string_view name = kName;
  if (spec.substr(0, name.size()) != name) return std::nullopt;
  std::string_view rest = spec.substr(name.size());
  if (rest.empty()) return usable_cores();
  constexpr int kMostRanks = 4096;
  int ranks = 0;
  const char* end = rest.data() + rest.size();
  if (rest.front() == ':') {
    const auto [last, code] = std::from_chars(rest.data() + 1, end, ranks);
    if (code == std::errc{} && last == end && ranks >= 1 && ranks <= kMostRanks) return ranks;
  }
  throw_input_error("cluster.this-machine",
                    fmt::format("'{}' is no number of ranks of this machine", spec), {},
                    fmt::format("this-machine:{}, 1 to {}", usable_cores(), kMostRanks));
}

std::string this_cpu() {
  // Arm only reports numbers.
  std::string maker, part, line;
  std::ifstream lines("/proc/cpuinfo");
  while (std::getline(lines, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t at = line.find_first_not_of(" \t", colon + 1);
    std::string value = at == std::string::npos ? "" : line.substr(at);
    if (line.starts_with("model name")) return value;
    if (line.starts_with("CPU implementer")) maker = value;
    if (line.starts_with("CPU part")) part = value;
  }
  utsname system{};
  uname(&system);
  return fmt::format("{} {} {}", system.machine, maker, part);
}

std::string_view own_device_kind(std::string_view device_name) {
  return device_name == kCpu ? "cpu" : device_name == kGpu ? "cuda" : "";
}

bool is_nominal(const Cluster& cluster) { return cluster.name == kName; }

}  // namespace nereus::cluster
