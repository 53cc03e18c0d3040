// Memory of the layers of a burst plan on a rank, by the same memory model as in predictions of
// whole plans (predict/memory.hpp), and what would make a plan fit if none does. Only for use
// inside app/.
//
//   BurstMemory memory(inputs, machine, precision, headroom);
//   memory.state_bytes(kind) + samples * memory.kept_bytes(kind);   // of one layer, on each rank
//   memory.lift(4096, 8, false);            // "what would fit: --global-batch 864 (...)"
#pragma once

#include <string>

#include "app/predict/predict_plan.hpp"
#include "cost/kernel_time.hpp"
#include "cost/machine_rates.hpp"

namespace nereus::app {

class BurstMemory {
 public:
  // All arguments must outlive this object.
  BurstMemory(const Inputs& inputs, const cost::Machine& machine, cluster::Precision precision,
              double headroom);

  // The part of a rank's memory that tensors may use, without fixed parts, slack and headroom.
  double limit() const { return limit_; }
  double state_bytes(const model::LayerKind& kind) const;
  double kept_bytes(const model::LayerKind& kind) const;  // per sample, until backward
  // `widest`: the largest number of ranks that a layer may have.
  std::string lift(int batch, int widest, bool powers_of_two) const;

 private:
  const Inputs& inputs_;
  const cost::Machine& machine_;
  cost::KernelModel kernels_;
  double limit_;
};

}  // namespace nereus::app
