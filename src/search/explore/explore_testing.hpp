// Studies for tests.
#pragma once

#include <string>

#include "search/explore/study_file.hpp"

namespace nereus::explore {

inline Study study_of(const std::string& text, const StudyOverrides& overrides = {}) {
  return study_from_text(text, "study.toml", overrides);
}

// Small enough to predict all of it: 2 x 3 clusters of 8 to 16 devices.
inline std::string small_study(const std::string& more = {}) {
  return R"(
name = "small"
stack = "megatron"
)" + more +
         R"(
[workload]
model = "gpt2-xl"
global_batch = 64
samples = 6400
[cluster]
base = "2xdgx-a100-80"
price = "$2/h"
[axes]
nodes = [1, 2]
network_bandwidth = ["x0.5", "x1", "x2"]
[strategy]
pp = [1, 2]
cp = 1
micro_batch = [1, 2]
recompute = ["none", "full"]
)";
}

}  // namespace nereus::explore
