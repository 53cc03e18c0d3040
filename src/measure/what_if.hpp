// How long a step would take with a change, computed from its measured stalls (measure/stalls.hpp):
// more cores to prepare samples, a faster disk, a larger cache, faster or more links, other
// gradient buckets, a faster device.
//
// Loading is pipelined, so the slowest of three decides, as in search/rent/feed.hpp:
//
//   step    = max(H, prepare / cores, fetch (1 - cached) / disk)
//   H       = work + talk + host copies        the step if samples are already prepared
//   prepare = the step on warm files           if its stall is significant; otherwise it is hidden:
//   fetch   = the step on cold files           0, with an interval up to the terms before it
//   work    = launch + (alone + contention + straggler - launch) / device
//   talk    = exposed time of gradient all-reduces (cost/buckets.hpp)
//
// All-reduces: gradients (4 bytes per parameter) become ready evenly over the backward pass, which
// is two thirds of the work. A bucket takes kSumLatency plus its bytes / rate. The rate is the one
// with which the exposed time equals the measured one; `links` multiplies it. Communication other
// than gradient all-reduces (pipelines, tensor parallelism) is not distinguished: a change of links
// scales it as if it were an all-reduce.
//
// Without changes, the result is the measured step: stalls that are not significant stay as they
// are.
//
//   const MeasuredStep now = read_stall_file(text, "stalls.json");
//   what_if(now, {{ChangeKind::kCores, 2}}).seconds;
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measure/stalls.hpp"

namespace nereus::measure {

inline constexpr double kSumLatency = 50e-6;  // seconds, assumed

struct MeasuredStep {
  std::string model;
  StallReport report;
  double parameters = 0;  // 0: unknown
  // Bytes of a gradient bucket, except the first one; torch's default unless stated.
  double bucket_bytes = 25 << 20;
};

enum class ChangeKind { kCores, kDisk, kCached, kLinks, kBucket, kDevice };
inline constexpr int kNumChanges = 6;
std::string_view to_string(ChangeKind kind);  // "cores"

struct Change {
  ChangeKind kind = ChangeKind::kCores;
  double value = 1;  // factor of number or speed; kCached: share 0 to 1; kBucket: bytes
  bool operator==(const Change&) const = default;
};

struct ChangedStep {
  double seconds = 0;
  double low = 0, high = 0;  // from the intervals of the stalls that the change scales
  double work = 0, talk = 0;
  double data = 0;  // waiting for samples; seconds = work + talk + data + copies
  double copies = 0;
  std::string scales;  // the measured number that is scaled, in words
};

// Parses "cores=2", "bucket=4MiB", "cached=0.5". Throws Errors: measure.change.
Change parse_change(const std::string& text);

// Reads JSON of `measure --stalls`, `measure -- COMMAND` or `measure --kineto`. Throws Errors.
MeasuredStep read_stall_file(std::string_view text, const std::string& file);

ChangedStep what_if(const MeasuredStep& now, const std::vector<Change>& changes);

// The default changes: doubling of each, all samples cached, and buckets a quarter and four times
// as large. Only for what was measured.
std::vector<Change> usual_changes(const MeasuredStep& now);

}  // namespace nereus::measure
