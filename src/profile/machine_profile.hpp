// Measurements of a machine in addition to the layers of a model: kernels, copies, links between
// ranks, collectives, jitter, its disk, and how fast it prepares samples. `nereus measure` writes
// them as a part of a profile (profile/profile.hpp):
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
// median of the repeats, and the quantiles of 10 and 90 %, between which four of five further
// repeats are expected. If several processes measured, these are means over processes, and median
// +- half_width is the 95 % interval from the variation between processes (profile/statistics.hpp).
// Files without the last two are from one process.
//
//   Machine machine = parse_profile(text, "here.json").machine;
//   for (const Collective& own : machine.collectives) own.seconds.median;
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/statistics.hpp"

namespace nereus::profile {

// Where and with what it was measured; unknown values are empty or 0.
struct Context {
  std::string device{};       // name in the catalog and in clusters: "CPU", "H200-SXM-141GB"
  std::string device_name{};  // name in its driver
  std::string driver{};
  std::string library{};  // "libtorch 1.13.1"
  std::string build{};    // of Nereus
  std::string date{};     // 2026-11-16T10:00:00Z
  std::string host{};     // of rank 0
  std::string system{};
  std::string backend{};  // backend of communication
  int cores = 0;          // that rank 0 may use on its host
  int ranks = 0;
  int hosts = 0;
  int threads = 0;  // for computation, per rank
  bool quick = false;
  int processes = 0;  // run one after the other; each measured everything
  bool operator==(const Context&) const = default;
};

struct Kernel {
  std::string kind{};  // gemm, attention, norm, element_wise, convolution, optimizer
  std::string precision{};
  // gemm: m, n, k; attention: samples, heads, tokens, head size; norm: rows, width; element_wise
  // and optimizer: elements; convolution: samples, channels in, channels out, image, kernel
  std::vector<std::int64_t> shape{};
  double flops = 0;  // per call
  double bytes = 0;  // the least that it reads and writes
  Quantiles seconds{};
  bool operator==(const Kernel&) const = default;
};

// copy, host_to_device_pageable, host_to_device_pinned, device_to_host_pinned ..
struct Copy {
  std::string kind{};
  double bytes = 0;
  Quantiles rate{};  // bytes copied per second; a copy in memory reads and writes each of them
  bool operator==(const Copy&) const = default;
};

// One way: half of the time for a message and its answer.
struct RankLink {
  int from = 0;
  int to = 0;
  bool same_host = true;
  double bytes = 0;
  Quantiles seconds{};
  bool operator==(const RankLink&) const = default;
};

// From the start of the first rank to the end of the last rank, with all ranks starting together.
struct Collective {
  std::string kind{};  // all_reduce, all_gather, reduce_scatter
  std::string backend{};
  int ranks = 0;
  int hosts = 1;
  double bytes = 0;  // of the whole buffer
  Quantiles seconds{};
  bool operator==(const Collective&) const = default;
};

// A fixed piece of work is repeated: its time, and by which share of that time the slowest of a
// hundred repeats (p99) and the slowest of all repeats (worst) took longer.
struct Jitter {
  Quantiles seconds{};
  double p99 = 0;
  double worst = 0;
  bool operator==(const Jitter&) const = default;
};

// A file read from its start, after it was evicted from the page cache (cold) or after it was read
// (warm).
struct DiskReads {
  Quantiles rate{};         // bytes per second
  double bytes_read = 0;    // by the program, over all repeats
  double bytes_loaded = 0;  // part of it that came from the disk, from /proc/self/io
  bool operator==(const DiskReads&) const = default;
};

struct Disk {
  std::string folder{};
  double bytes = 0;  // of the file
  DiskReads cold{};
  DiskReads warm{};
  bool operator==(const Disk&) const = default;
};

// Number of samples that one core prepares per second.
struct Preparation {
  std::string kind{};  // tokens, images
  double bytes = 0;    // per sample, in its file
  Quantiles rate{};    // samples per second
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
