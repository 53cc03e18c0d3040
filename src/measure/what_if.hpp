// What a step would take with something changed, from the stalls that were measured of it
// (measure/stalls.hpp): more cores to prepare samples, a quicker disk, a larger cache, quicker or
// more links, other buckets of gradients, a quicker device.
//
// Loading is pipelined, so the slowest of three sets the pace, as in search/rent/feed.hpp:
//
//   step    = max(H, prepare / cores, fetch (1 - cached) / disk)
//   H       = work + talk + host copies        what the step takes with samples at hand
//   prepare = the step on warm files           where its stall is significant; else it is hidden
//   fetch   = the step on cold files           behind H and at most as long: that is its interval
//   work    = launch + (alone + contention + straggler - launch) / device
//   talk    = what of the sums of gradients backward does not hide (cost/buckets.hpp)
//
// Sums: gradients (4 bytes a parameter) come evenly over the backward pass, two thirds of the work;
// a bucket takes kSumLatency and its bytes / rate. The rate is the one at which the sums that were
// measured stay exposed as long as was measured; `links` multiplies it. What stays out: talk other
// than sums (pipelines, tensor parallelism), which such a change scales as if it were one.
//
// With nothing changed it is the measured step: what is not significant stays as it is.
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
  double parameters = 0;           // 0: not known
  double bucket_bytes = 25 << 20;  // of gradients, but for the first; torch's own unless stated
};

enum class ChangeKind { kCores, kDisk, kCached, kLinks, kBucket, kDevice };
inline constexpr int kNumChanges = 6;
std::string_view to_string(ChangeKind kind);  // "cores"

struct Change {
  ChangeKind kind = ChangeKind::kCores;
  double value = 1;  // times as many or as quick; kCached: share 0 to 1; kBucket: bytes
  bool operator==(const Change&) const = default;
};

struct ChangedStep {
  double seconds = 0;
  double low = 0, high = 0;  // by the intervals of the stalls that it scales
  double work = 0, talk = 0;
  double data = 0;  // waiting for samples; the three and copies make up `seconds`
  double copies = 0;
  std::string scales;  // which measured number, in words
};

// "cores=2", "bucket=4MiB", "cached=0.5". Throws Errors: measure.change.
Change parse_change(const std::string& text);

// JSON as `measure --stalls`, `measure -- COMMAND` and `measure --kineto` write it. Throws Errors.
MeasuredStep read_stall_file(std::string_view text, const std::string& file);

ChangedStep what_if(const MeasuredStep& now, const std::vector<Change>& changes);

// What is worth a look where nobody asks for anything: doubling of each, all samples cached, and
// buckets a quarter and four times as large. Only what was measured.
std::vector<Change> usual_changes(const MeasuredStep& now);

}  // namespace nereus::measure
