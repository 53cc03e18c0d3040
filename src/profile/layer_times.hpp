// Measured times of one layer by number of samples in a micro-batch, and its memory, from other
// people's profilers.
//
//   const LayerProfile p =
//       read_cephalo_profile(latencies, "latencies.json", memory, "memory.json");
//   const LayerTimes& t = p.times_of("deepspeedgpt_2.7b", "l4", 512, "float16");
//   t.forward.at(4);                                  // seconds for four samples
//
// A curve has measured points for 1, 2, ... samples. Beyond them it is a line, which is a guess:
// is_measured() distinguishes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "spec/value.hpp"

namespace nereus::profile {

struct Curve {
  std::vector<double> points{};  // for 1, 2, ... samples
  double slope = 0;              // beyond the points: slope samples + intercept
  double intercept = 0;
  bool is_measured(int samples) const { return samples <= static_cast<int>(points.size()); }
  double at(int samples) const {
    return is_measured(samples) ? points[samples - 1] : slope * samples + intercept;
  }
  bool operator==(const Curve&) const = default;
};

// One layer of `model` on `device`; in seconds.
struct LayerTimes {
  std::string model{};
  std::string device{};
  int seq = 0;
  std::string precision{};
  Curve forward{};
  Curve backward{};
};

// Bytes needed to compute one micro-batch, in addition to the training state.
struct ComputeMemory {
  std::string setting{};  // the cluster it was measured on
  std::string model{};
  std::string precision{};
  double parameters = 0;
  Curve bytes{};
};

struct LayerProfile {
  std::vector<LayerTimes> times{};
  std::vector<ComputeMemory> memory{};
  std::vector<std::string> left_out{};  // unusable entries, with the reason
  // Throw if there is none, with the nearest entry.
  const LayerTimes& times_of(std::string_view model, std::string_view device, int seq,
                             std::string_view precision) const;
  const ComputeMemory& memory_of(std::string_view setting, std::string_view model,
                                 std::string_view precision) const;
};

// More samples never take less time: points below an earlier one are raised to it. Only noise makes
// measured times violate this. Reports how many points were raised.
struct Repaired {
  Curve curve{};
  int raised = 0;
};
Repaired monotone(const Curve& measured);

// Cephalo's two files: model -> device -> sequence -> precision -> [line forward, line backward,
// points forward, points backward] in ms, possibly without points; and setting -> model ->
// parameters and GiB for 1, 2, ... samples. Beyond its points, memory grows by the mean of its last
// five differences, as in Cephalo's planner. Invalid times (zero, negative, over an hour) are
// errors. Entries in another form, which that planner cannot read either, are skipped and listed.
LayerProfile read_cephalo_latencies(const spec::Value& latencies, ErrorList& errors);
LayerProfile read_cephalo_profile(std::string_view latencies, const std::string& latencies_file,
                                  std::string_view memory, const std::string& memory_file);

}  // namespace nereus::profile
