// Random models, machines and stacks for the property tests of this folder.
// predict/predict_testing.hpp has random plans.
//
//   const model::Model model = any_transformer();           // inside rc::check
#pragma once

#include <rapidcheck.h>

#include <cmath>
#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "model/model.hpp"
#include "stack/stack_file.hpp"

namespace nereus::cost::testing {

template <class T>
T pick(std::initializer_list<T> values) {
  return *rc::gen::elementOf(std::vector<T>(values));
}

inline double between(double low, double high) {
  return low + (high - low) * *rc::gen::inRange(0, 1'000'001) * 1e-6;
}

// Log-uniform between `low` and `high`.
inline double around(double low, double high) { return low * std::pow(high / low, between(0, 1)); }

inline model::Model any_transformer(bool may_have_experts = true) {
  model::TransformerShape shape;
  shape.name = "random";
  shape.layers = *rc::gen::inRange(1, 20);
  shape.heads = pick({1, 2, 4, 6, 8, 16});
  shape.head_dim = pick({16, 40, 64, 80, 128});
  shape.hidden = shape.heads * shape.head_dim;
  shape.kv_heads = shape.heads % 2 == 0 ? pick({shape.heads, shape.heads / 2, 1}) : shape.heads;
  shape.ffn = shape.hidden * pick({2, 3, 4});
  shape.vocab = *rc::gen::inRange(50, 60000);
  shape.seq = pick({16, 96, 128, 512, 2048});
  shape.gated_mlp = *rc::gen::arbitrary<bool>();
  shape.tied_embeddings = *rc::gen::arbitrary<bool>();
  shape.causal = *rc::gen::arbitrary<bool>();
  shape.bias = *rc::gen::arbitrary<bool>();
  if (may_have_experts && *rc::gen::inRange(0, 3) == 0) {
    shape.experts = pick({2, 4, 8});
    shape.top_k = pick({1, 2});
    shape.expert_ffn = shape.hidden * pick({1, 2});
    shape.dense_layers = *rc::gen::inRange(0, shape.layers + 1);
    shape.shared_experts = pick({0, 0, 1});
    shape.expert_interval = pick({1, 1, 2});
    shape.expert_latent = pick({0, 0, 64});
  }
  shape.mtp_layers = pick({0, 0, 0, 1});
  if (*rc::gen::inRange(0, 4) == 0) {
    shape.window = 64;
    shape.window_interval = pick({1, 2});
  }
  if (*rc::gen::inRange(0, 4) == 0) {
    const std::string mixers = shape.experts > 0 ? "M*E-" : "M*-";
    for (int i = 0; i < shape.layers; ++i) shape.pattern += *rc::gen::elementOf(mixers);
    shape.ssm_heads = 16;
    shape.ssm_head_dim = 64;
    shape.ssm_state = pick({16, 128});
    shape.ssm_groups = 8;
  }
  return model::build_transformer(shape);
}

// A model whose tables have few or many rows.
inline model::Model any_dlrm() {
  model::DlrmShape shape;
  shape.name = "tables";
  const int tables = *rc::gen::inRange(1, 13);
  for (int i = 0; i < tables; ++i) {
    shape.rows.push_back(pick<std::int64_t>({1, 3, 50, 1000, 40'000, 3'000'000, 40'000'000}));
    shape.lookups.push_back(*rc::gen::inRange(1, 40));
  }
  shape.dim = pick({8, 16, 48, 64, 128});
  shape.bottom.assign(static_cast<std::size_t>(*rc::gen::inRange(1, 4)), pick({64, 512}));
  shape.bottom.back() = shape.dim;
  shape.top.assign(static_cast<std::size_t>(*rc::gen::inRange(1, 5)), pick({32, 1024}));
  shape.top.back() = 1;
  shape.interaction = static_cast<model::Interaction>(*rc::gen::inRange(0, 3));
  if (shape.interaction == model::Interaction::kCross) shape.cross_layers = shape.cross_rank = 2;
  shape.table_bytes = pick({1, 2, 4});
  shape.table_optimizer = static_cast<model::TableOptimizer>(*rc::gen::inRange(0, 4));
  return model::build_dlrm(shape);
}

// A device with round numbers.
inline cluster::Device plain_device() {
  cluster::Device device;
  device.name = device.short_name = "plain";
  device.memory = Bytes{8e10};
  device.memory_bandwidth = BytesPerSecond{2e12};
  for (FlopsPerSecond& peak : device.peak) peak = FlopsPerSecond{1e14};
  device.num_units = 100;
  return device;
}

// Nodes of one kind. Half of the clusters have host memory, half have expanded memory.
inline cluster::Cluster any_cluster(int num_devices) {
  cluster::Cluster cluster;
  cluster.name = "random";
  cluster::NodeGroup group;
  std::vector<int> sizes;
  for (int size : {1, 2, 3, 4, 6, 8, 16})
    if (num_devices % size == 0) sizes.push_back(size);
  cluster::Node& node = group.node;
  node.name = "node";
  node.num_devices = *rc::gen::elementOf(sizes);
  node.nvlink_domain = pick({0, 0, 0, 2 * node.num_devices});
  node.inside.bandwidth = BytesPerSecond{around(5e9, 1e12)};
  node.inside.latency = Seconds{around(1e-7, 1e-5)};
  const auto any_topology = [] {
    return static_cast<cluster::TopologyKind>(std::max(0, *rc::gen::inRange(-5, 6)));
  };
  node.inside.topology = any_topology();
  node.network = BytesPerSecond{around(1e8, 1e12)};
  node.network_latency = Seconds{around(1e-6, 1e-3)};
  cluster::Device& device = node.device;
  device.name = device.short_name = pick<std::string>({"A100-SXM-80GB", "H100-SXM-80GB", "X1"});
  device.memory = Bytes{around(1e9, 3e11)};
  device.memory_bandwidth = BytesPerSecond{around(1e11, 1e13)};
  for (std::size_t p = 0; p < device.peak.size(); ++p)
    device.peak[p] = FlopsPerSecond{around(1e12, 5e15)};
  device.num_units = pick({0, 16, 108, 132});
  device.host_link = BytesPerSecond{pick({0.0, 3.15e10})};
  for (const char* tier : {"host", "expanded"})
    if (*rc::gen::arbitrary<bool>())
      node.tiers.push_back({tier, Bytes{around(1e10, 4e12)}, BytesPerSecond{around(1e9, 1e12)},
                            Seconds{pick({0.0, 1e-6, 1e-3})}});
  if (*rc::gen::arbitrary<bool>()) {
    cluster::NetworkLevel level;
    level.name = "network";
    level.bandwidth = pick({BytesPerSecond{}, BytesPerSecond{around(1e9, 1e12)}});
    level.oversubscription = pick({1.0, 2.0});
    level.topology = any_topology();
    cluster.levels.push_back(level);
  }
  group.count = num_devices / node.num_devices;
  cluster.groups.push_back(group);
  return cluster;
}

// One of the built-in stacks. One time in three, some of its numbers are drawn from their physical
// range.
inline Stack any_stack() {
  Stack stack = builtin_stacks().resolve(*rc::gen::elementOf(builtin_stacks().stack_names()));
  stack.options.attention = pick({plan::Attention::kFlash, plan::Attention::kUnfused});
  stack.options.zero2 =
      pick({Zero2Rule::kReduceOnce, Zero2Rule::kReduceEach, Zero2Rule::kGatherEach});
  if (*rc::gen::inRange(0, 3) == 0)
    for (const ParameterInfo& info : parameter_table())
      if (*rc::gen::arbitrary<bool>())
        stack.settings[std::string(info.name)] = between(info.low, info.high);
  return stack;
}

}  // namespace nereus::cost::testing
