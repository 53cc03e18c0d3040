// Study files (TOML, YAML or JSON). docs/studies.md has every key; in short:
//
//   name = "where the next dollar goes"
//   goals = ["time", "money"]
//   [workload]
//   model = "megatron-1t"                         # or a file; several: [[workload]]
//   global_batch = 1024                           # a value, a list or a range; also seq, precision
//   tokens = 450e9                                # or samples, steps, flops = "1e24 FLOP"
//   shape = { layers = [96, 128] }                # any field of the model's file
//   [cluster]
//   base = "128xdgx-a100-80"                      # several: [[cluster]], each with a name
//   expanded_memory = "256 GB"                    # any axis, set once
//   [axes]
//   network_bandwidth = "12.5 GB/s..400 GB/s*2"   # search/explore/study_axis.hpp
//   [strategy]
//   space = "full"                                # or "mp-dp"; tp, pp, ... narrow it
//   [prices]
//   expanded_memory = "$4 per GB"
//   lifetime = "4 years"
//   [constraints]
//   devices = 4096
//
// All errors of a file are reported at once, with their places.
#pragma once

#include <string>

#include "search/explore/study.hpp"
#include "spec/value.hpp"

namespace nereus::explore {

// A path and its value, as in `--set study.axes.nodes="1..4"`.
using StudyOverrides = std::vector<std::pair<std::string, std::string>>;

// The text of a study file, or of a built-in study (data/studies) with that name.
std::string study_text(const std::string& path_or_name);
std::vector<std::string> builtin_study_names();

// The text of a file of that name.
Study study_from_text(const std::string& text, const std::string& path,
                      const StudyOverrides& overrides);
Study study_from_value(const spec::Value& value, const std::string& source);

}  // namespace nereus::explore
