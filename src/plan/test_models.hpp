// Small models and clusters for tests. They do not use rapidcheck, because the worker's tests are
// also built where it is not installed.
#pragma once

#include "cluster/cluster.hpp"
#include "model/model.hpp"

namespace nereus::plan::testing {

// A cluster of `nodes` x `per_node` devices that support bf16, fp16 and fp32, with host memory.
inline cluster::Cluster make_cluster(int nodes, int per_node = 1) {
  cluster::Cluster cluster;
  cluster.name = "test";
  cluster::NodeGroup group;
  group.count = nodes;
  group.node.name = "node";
  group.node.num_devices = group.node.nvlink_domain = per_node;
  group.node.device.name = group.node.device.short_name = "T1";
  group.node.device.memory = Bytes{80e9};
  for (cluster::Precision p :
       {cluster::Precision::kBf16, cluster::Precision::kFp16, cluster::Precision::kFp32})
    group.node.device.peak[static_cast<std::size_t>(p)] = FlopsPerSecond{1e14};
  group.node.tiers.push_back({"host", Bytes{1e12}, BytesPerSecond{2e10}, Seconds{1e-6}});
  group.node.tiers.push_back({"expanded", Bytes{1e12}, BytesPerSecond{5e11}, Seconds{1e-6}});
  cluster.groups.push_back(group);
  return cluster;
}

inline model::Model make_dense(int layers, bool tied = false) {
  model::TransformerShape shape;
  shape.name = "dense";
  shape.layers = layers;
  shape.hidden = 64;
  shape.heads = 8;
  shape.kv_heads = 4;
  shape.ffn = 128;
  shape.vocab = 100;
  shape.seq = 64;
  shape.tied_embeddings = tied;
  return model::build_transformer(shape);
}

inline model::Model make_experts(int layers, int dense_layers = 1) {
  model::TransformerShape shape = *make_dense(layers).transformer;
  shape.name = "experts";
  shape.experts = 8;
  shape.top_k = 2;
  shape.expert_ffn = 32;
  shape.dense_layers = dense_layers;
  return model::build_transformer(shape);
}

}  // namespace nereus::plan::testing
