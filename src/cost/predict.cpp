#include "cost/predict.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "cost/memory.hpp"
#include "cost/step.hpp"
#include "cost/tables.hpp"

namespace nereus::cost {

using cluster::Precision;
using plan::Degrees;
using plan::Recompute;

std::string_view to_string(Part part) {
  constexpr std::string_view kNames[] = {
      "compute",       "recompute", "tensor_comm", "context_comm", "expert_comm",
      "pipeline_comm", "data_comm", "bubble",      "optimizer",    "offload",
      "input",         "launch",    "fixed"};
  return kNames[static_cast<size_t>(part)];
}

std::string_view to_string(MemoryPart part) {
  constexpr std::string_view kNames[] = {"weights", "gradients", "optimizer", "activations",
                                         "buffers", "logits",    "fixed",     "slack"};
  return kNames[static_cast<size_t>(part)];
}

Predictor::Predictor(const model::Model& model, const cluster::Cluster& cluster, const Stack& stack,
                     int num_splits)
    : tables_(std::make_unique<Tables>(model, cluster, stack, num_splits)) {}
Predictor::~Predictor() = default;
Predictor::Predictor(Predictor&&) noexcept = default;

Prediction Predictor::predict(const Degrees& d) {
  Tables& tables = *tables_;
  const SplitCosts& split = tables.split_costs(d);
  const StageTable& stages = tables.stage_table(d.pp, d.interleave);
  const Parameters& p = tables.parameters();
  const int m = tables.num_micro_batches(d);

  Prediction out;
  out.memory = memory_of(tables, split, stages, d, m);
  out.fits = out.memory.total <= out.memory.capacity;
  const double memory_share = out.memory.total / out.memory.capacity;
  auto& parts = out.parts;
  const auto add = [&](Part part, double seconds) { parts[static_cast<size_t>(part)] += seconds; };

  // The slowest stage sets the pace; the others are the bubble.
  StageTime slowest{};
  double quickest = 0;
  double sum_of_stages = 0;
  for (const StageClass& stage : stages.classes) {
    const StageTime time = stage_time(tables, split, stage, d);
    sum_of_stages += time.total * stage.multiplicity;
    if (time.total > slowest.total) slowest = time;
    if (quickest == 0 || time.total < quickest) quickest = time.total;
  }
  add(Part::kCompute, m * slowest.compute);
  add(Part::kRecompute, m * slowest.recompute);
  add(Part::kTensorComm, m * slowest.tensor);
  add(Part::kContextComm, m * slowest.context);
  add(Part::kExpertComm, m * slowest.expert);
  add(Part::kDataComm, m * slowest.shard);
  add(Part::kLaunch, m * slowest.launch);
  if (d.pp > 1) {
    add(Part::kBubble, (sum_of_stages - slowest.total) / d.interleave);
    add(Part::kPipelineComm, transfer_seconds(tables, split, d, m, memory_share));
  }

  const DataTime data = data_time(tables, split, stages, d, quickest);
  add(Part::kDataComm, data.reduce);
  add(Part::kOptimizer, data.optimizer);
  add(Part::kFixed, p.host_step + m * p.host_micro_batch);

  if (p.memory_pressure > 0 && memory_share > 0.9)
    add(Part::kFixed, p.memory_pressure * (std::min(memory_share, 1.1) - 0.9) * m * slowest.total);

  for (double part : parts) out.step += part;
  out.model_flops = tables.flops_per_sample() * d.global_batch;
  const double peak = tables.peak(d.precision);
  out.mfu = peak > 0 ? out.model_flops / (out.step * peak * d.num_ranks()) : 0;
  return out;
}

}  // namespace nereus::cost
