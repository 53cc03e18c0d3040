// A device with round numbers, software that costs nothing except arithmetic, and models with round
// shapes.
//
//   operator_cost(op, model_of(ideal()), {.samples = 32}).forward
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string_view>

#include "cost/layer_cost.hpp"

namespace nereus::cost::testing {

using cluster::Precision;
using model::Operator;
using plan::Attention;

// 100 TFLOP/s in 16 bit, 1 TB/s, 128 multiprocessors: a wave is 128 tiles.
inline cluster::Device device() {
  cluster::Device d;
  d.name = d.short_name = "T1";
  d.memory = Bytes{80e9};
  d.memory_bandwidth = BytesPerSecond{1e12};
  d.num_units = 128;
  const auto set = [&](Precision p, double peak) {
    d.peak[static_cast<std::size_t>(p)] = FlopsPerSecond{peak};
  };
  set(Precision::kFp32, 20e12);
  set(Precision::kFp16, 100e12);
  set(Precision::kBf16, 100e12);
  set(Precision::kFp8, 200e12);
  return d;
}

// Arithmetic only: full rates, no start-up, no tail.
inline Parameters ideal() {
  Parameters p;
  p.gemm_efficiency = p.gemm_efficiency_8bit = p.memory_efficiency = p.attention_efficiency = 1;
  p.gemm_tail = p.gemm_depth = p.kernel_gap = 0;
  p.attention_backward = p.elementwise_passes = p.loss_passes = p.score_passes = 1;
  return p;
}

inline KernelModel model_of(const Parameters& p, Precision precision = Precision::kBf16,
                            Attention attention = Attention::kFlash) {
  return KernelModel(device(), p, precision, attention);
}

inline Parameters random_parameters() {
  Parameters p;
  for (const ParameterInfo& info : parameter_table())
    p.*info.member = info.low + (info.high - info.low) * *rc::gen::inRange(0, 101) * 0.01;
  return p;
}

inline model::TransformerShape gpt_shape() {
  model::TransformerShape shape;
  shape.layers = 2;
  shape.hidden = 4096;
  shape.heads = 32;
  shape.ffn = 16384;
  shape.vocab = 51200;
  shape.seq = 2048;
  return shape;
}

inline model::TransformerShape llama_shape() {
  model::TransformerShape shape = gpt_shape();
  shape.kv_heads = 8;
  shape.gated_mlp = true;
  shape.bias = false;
  shape.norm = model::NormKind::kRmsNorm;
  shape.position = model::PositionKind::kRotary;
  return shape;
}

// Embedding, block and head are kinds 0, 1 and 2 of a dense model.
inline LayerCost block_cost(const model::TransformerShape& shape, const KernelModel& m,
                            const LayerSplit& split) {
  return layer_cost(model::build_transformer(shape).kinds[1], m, split);
}

inline const Operator& find(const model::LayerKind& layer, std::string_view name) {
  for (const Operator& op : layer.operators)
    if (op.name == name) return op;
  ADD_FAILURE() << "no operator " << name;
  return layer.operators.front();
}

inline model::TransformerShape expert_shape() {
  model::TransformerShape shape = llama_shape();
  shape.experts = 8;
  shape.top_k = 2;
  shape.expert_ffn = 4096;
  return shape;
}

}  // namespace nereus::cost::testing
