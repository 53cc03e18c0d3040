// What a machine was measured to do beside the layers of a model: kernels, copies, links between
// ranks, collectives, how evenly it works, its disk, and how fast it prepares samples. Written by
// `nereus measure`, a part of a profile (profile/profile.hpp):
//
//   "context":     {"device": "CPU", "device_name": "Intel Xeon", "library": "libtorch 1.13.1", ..}
//   "kernels":     [{"kind": "gemm", "precision": "fp32", "shape": [512, 512, 512],
//                    "flops": 268435456, "bytes": 3145728, "seconds": S}]
//   "memory":      {"copy": {"bytes": 67108864, "bytes_per_s": S}, ..}
//   "links":       [{"from": 0, "to": 1, "same_host": true, "bytes": 1048576, "seconds": S}]
//   "collectives": [{"kind": "all_reduce", "backend": "shared", "ranks": 2, "hosts": 1,
//                    "bytes": 1048576, "seconds": S}]
//   "jitter":      {"seconds": S, "p99": 0.08, "worst": 0.4}
//   "disk":        {"folder": "/data", "bytes": 67108864, "cold": {..}, "warm": {..}}
//   "prepare":     [{"kind": "tokens", "bytes": 2050, "samples_per_s": S}]
//
// S = {"median": .., "low": .., "high": .., "repeats": .., "processes": 5, "half_width": ..}: the
// median of repeats, and the quantiles of 10 and 90 % between which a further repeat falls four
// times in five. Measured in several processes these are means over them, and median +- half_width
// is the interval of 95 % by how the processes differ (profile/statistics.hpp). Files without the
// last two are of one process.
//
//   Machine machine = parse_profile(text, "here.json").machine;
//   for (const Collective& own : machine.collectives) own.seconds.median;
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/statistics.hpp"

namespace nereus::profile {

// Where and with what it was measured; what nobody could say is empty or 0.
struct Context {
  std::string device{};       // as catalogue and clusters call it: "CPU", "H200-SXM-141GB"
  std::string device_name{};  // as its driver calls it
  std::string driver{};
  std::string library{};  // "libtorch 1.13.1"
  std::string build{};    // of Nereus
  std::string date{};     // 2026-11-16T10:00:00Z
  std::string host{};     // of rank 0
  std::string system{};
  std::string backend{};  // how ranks talk
  int cores = 0;          // of rank 0's host that it may use
  int ranks = 0;
  int hosts = 0;
  int threads = 0;  // of computation, a rank
  bool quick = false;
  int processes = 0;  // one after the other, each of which measured all
  bool operator==(const Context&) const = default;
};

struct Kernel {
  std::string kind{};  // gemm, attention, norm, element_wise, convolution, optimizer
  std::string precision{};
  // gemm m, n, k; attention samples, heads, tokens, head size; norm rows, width; element_wise and
  // optimizer elements; convolution samples, channels in, channels out, image, kernel
  std::vector<std::int64_t> shape{};
  double flops = 0;  // of one call
  double bytes = 0;  // that it reads and writes at least
  Quantiles seconds{};
  bool operator==(const Kernel&) const = default;
};

// copy, host_to_device_pageable, host_to_device_pinned, device_to_host_pinned ..
struct Copy {
  std::string kind{};
  double bytes = 0;
  Quantiles rate{};  // bytes copied a second; a copy in memory reads and writes each
  bool operator==(const Copy&) const = default;
};

// One way, half of what a message and its answer take.
struct RankLink {
  int from = 0;
  int to = 0;
  bool same_host = true;
  double bytes = 0;
  Quantiles seconds{};
  bool operator==(const RankLink&) const = default;
};

// From the first rank's start to the last rank's end, all ranks starting together.
struct Collective {
  std::string kind{};  // all_reduce, all_gather, reduce_scatter
  std::string backend{};
  int ranks = 0;
  int hosts = 1;
  double bytes = 0;  // of the whole buffer
  Quantiles seconds{};
  bool operator==(const Collective&) const = default;
};

// Of a fixed piece of work, again and again: what it takes, and by what share of that the slowest
// in a hundred and the slowest of all took longer.
struct Jitter {
  Quantiles seconds{};
  double p99 = 0;
  double worst = 0;
  bool operator==(const Jitter&) const = default;
};

// Of one file read from its start, evicted from the page cache before (cold) or read before (warm).
struct DiskReads {
  Quantiles rate{};         // bytes a second
  double bytes_read = 0;    // by the program, of all repeats
  double bytes_loaded = 0;  // of them from the disk, by /proc/self/io
  bool operator==(const DiskReads&) const = default;
};

struct Disk {
  std::string folder{};
  double bytes = 0;  // of the file
  DiskReads cold{};
  DiskReads warm{};
  bool operator==(const Disk&) const = default;
};

// What one core prepares in a second.
struct Preparation {
  std::string kind{};  // tokens, images
  double bytes = 0;    // of a sample in its file
  Quantiles rate{};    // samples a second
  bool operator==(const Preparation&) const = default;
};

struct Machine {
  Context context{};
  std::vector<Kernel> kernels{};
  std::vector<Copy> copies{};
  std::vector<RankLink> links{};
  std::vector<Collective> collectives{};
  Jitter jitter{};
  Disk disk{};
  std::vector<Preparation> preparations{};
  bool empty() const { return *this == Machine{}; }
  bool operator==(const Machine&) const = default;
};

}  // namespace nereus::profile
