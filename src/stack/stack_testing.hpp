// A family of stacks for the tests of this folder.
//
//   library_of(kFamily).resolve("child", "here")
#pragma once

#include "stack/stack_file.hpp"

namespace nereus::cost::testing {

inline StackLibrary library_of(const char* text) {
  StackLibrary library;
  overlay_stacks(library, text, "test.toml");
  return library;
}

inline cluster::Device device(const char* short_name) {
  cluster::Device d;
  d.name = d.short_name = short_name;
  return d;
}

inline constexpr const char* kFamily = R"(
[device.A100.parameters]
gemm_efficiency = 0.81
link_latency = "5 us"
[device."A100-SXM-80GB".parameters]
gemm_efficiency = 0.82
[device.A800]
inherits = "A100"

[stack.root]
description = "the root"
attention = "unfused"
weight_bytes = 4
[stack.root.defaults]
vocab = 1000
zero = 1
[stack.root.parameters]
host_layer = "1.5 ms"
memory_fixed = "2 GB"
link_latency = "6 us"
[stack.root.fit]
host_layer = { prior = "2 ms", spread = 0.5 }

[stack.child]
inherits = "root"
stage_rule = "balanced"
[stack.child.defaults]
zero = 3
[stack.child.parameters]
host_layer = { value = "3 ms", low = "2 ms", high = "4 ms", rows = 12 }

[site.here]
sets = ["a", "b"]
network = "50 GB/s"
[site.here.parameters]
link_latency = "7 us"
)";

}  // namespace nereus::cost::testing
