// Measured times of one layer by samples of a micro-batch, and the memory it takes, as other
// people's profilers wrote them.
//
//   const LayerProfile p =
//       read_cephalo_profile(latencies, "latencies.json", memory, "memory.json");
//   const LayerTimes& t = p.times_of("deepspeedgpt_2.7b", "l4", 512, "float16");
//   t.forward.at(4);                                  // seconds of four samples
//
// A curve is the measured points of 1, 2, ... samples; beyond them a line, which is a guess:
// is_measured() tells them apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "spec/value.hpp"

namespace nereus::profile {

struct Curve {
  std::vector<double> points{};  // of 1, 2, ... samples
  double slope = 0;              // beyond: slope samples + intercept
  double intercept = 0;
  bool is_measured(int samples) const { return samples <= static_cast<int>(points.size()); }
  double at(int samples) const {
    return is_measured(samples) ? points[samples - 1] : slope * samples + intercept;
  }
  bool operator==(const Curve&) const = default;
};

// One layer of `model` on `device`; seconds.
struct LayerTimes {
  std::string model{};
  std::string device{};
  int seq = 0;
  std::string precision{};
  Curve forward{};
  Curve backward{};
};

// Bytes of computing one micro-batch, beside training state.
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
  std::vector<std::string> left_out{};  // entries of no use, with the reason
  // Throw where there is none, with the nearest that there is.
  const LayerTimes& times_of(std::string_view model, std::string_view device, int seq,
                             std::string_view precision) const;
  const ComputeMemory& memory_of(std::string_view setting, std::string_view model,
                                 std::string_view precision) const;
};

// More samples never take less: points below an earlier one are raised to it. Measured times break
// this by noise alone. How many points were raised is said.
struct Repaired {
  Curve curve{};
  int raised = 0;
};
Repaired monotone(const Curve& measured);

// Cephalo's two files: model -> device -> sequence -> precision -> [line forward, line backward,
// points forward, points backward] in ms, the points perhaps missing; and setting -> model ->
// parameters and GiB of 1, 2, ... samples. Memory beyond its points grows by the mean of its last
// five, as Cephalo's planner has it. Numbers that are no times (zero, negative, over an hour) are
// errors; entries of another shape, which that planner cannot read either, are left out and listed.
LayerProfile read_cephalo_latencies(const spec::Value& latencies, ErrorList& errors);
LayerProfile read_cephalo_profile(std::string_view latencies, const std::string& latencies_file,
                                  std::string_view memory, const std::string& memory_file);

}  // namespace nereus::profile
