// What the fast predictor looks up: layer costs by split, stage classes by depth. Tables fill on
// first use and are reused by every later plan of the same model and machine; a lookup allocates
// nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cost/collectives.hpp"
#include "cost/kernels.hpp"
#include "cost/predict.hpp"
#include "cost/stack.hpp"
#include "cost/stages.hpp"

namespace nereus::cost {

// Costs of every layer kind under one split.
struct KindCost {
  LayerCost cost;
  double tensor_forward = 0;  // seconds of tensor collectives, bandwidth and link start-up
  double tensor_backward = 0;
  int collectives_forward = 0;
  int collectives_backward = 0;
  double expert_forward = 0;   // seconds of all-to-all
  double context_forward = 0;  // seconds of exposed context exchange
  double context_backward = 0;
};

struct SplitCosts {
  std::uint64_t key = 0;
  const KindCost* kinds = nullptr;  // one per layer kind; null: empty slot
};

class Tables {
 public:
  Tables(const model::Model& model, const cluster::Cluster& cluster, const Stack& stack,
         int num_splits);

  const SplitCosts& split_costs(const plan::Degrees& degrees);
  const StageTable& stage_table(int pp, int interleave);
  const KernelModel& kernels(cluster::Precision precision);

  const model::Model& model() const { return model_; }
  const StackOptions& options() const { return options_; }
  const Parameters& parameters() const { return parameters_; }
  const Fabric& fabric() const { return fabric_; }
  const cluster::Device& device() const { return device_; }
  double flops_per_sample() const { return flops_per_sample_; }
  double peak(cluster::Precision precision) const { return device_.peak_of(precision).value; }
  double tied_parameters() const { return tied_parameters_; }
  int devices_per_node() const { return devices_per_node_; }
  // Micro-batches of one replica in a step; a local batch that the pipeline cuts itself gives pp of
  // them.
  int num_micro_batches(const plan::Degrees& d) const;
  double samples_per_micro_batch(const plan::Degrees& d) const;

 private:
  void grow();

  const model::Model& model_;
  StackOptions options_;
  cluster::Device device_;
  Parameters parameters_;
  Fabric fabric_;
  int devices_per_node_ = 1;
  double flops_per_sample_ = 0;
  double tied_parameters_ = 0;
  std::vector<std::optional<KernelModel>> kernels_;
  std::vector<SplitCosts> slots_;  // open addressing, a power of two
  std::vector<std::unique_ptr<KindCost[]>>
      blocks_;                  // never move, so that slots may point into them
  std::size_t block_size_ = 0;  // rows in each block
  std::size_t used_ = 0;
  std::vector<std::unique_ptr<StageTable>> stage_tables_;
};

}  // namespace nereus::cost
