// A GPU's update of weights in one launch, for any number of layers: it reads the gradient, updates
// weight and moments, and writes the weight in bf16 if passes use bf16. With libtorch, an update
// needs launches and copies for each layer, and the device waits for the host to launch them: 1.6
// to 3.4 ms per step of ResNet-50 on an H200, depending on the speed of the host.
//
//   std::vector<UpdateSpan> spans = ..;       // per layer: parameters with decay, then without
//   GpuUpdate update;                         // one per list of spans
//   if (!update.run(spans, constants)) ..     // no GPU or no NVRTC: no change
//
// Spans are cut into chunks, one per block. The list of chunks stays on the device, and is rebuilt
// if a span has moved.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/device/torch.hpp"

namespace nereus::worker {

// The constants of one update: worker/state/optimizer.hpp has the formulas.
struct UpdateConstants {
  double rate, beta1, beta2, epsilon, momentum, decay, scale, correct1, correct2;
};

// Pointers to device memory, all fp32 except `narrow`.
struct UpdateSpan {
  float* weights = nullptr;
  const float* gradients = nullptr;
  float* first = nullptr;
  float* second = nullptr;          // null: SGD
  std::uint16_t* narrow = nullptr;  // the same weights in bf16; null: none
  std::int64_t size = 0;
  bool decays = false;
  bool operator==(const UpdateSpan&) const = default;
};

class GpuUpdate {
 public:
  bool run(const std::vector<UpdateSpan>& spans, const UpdateConstants& constants);

 private:
  std::vector<UpdateSpan> spans_;
  at::Tensor chunks_;  // bytes
  std::int64_t num_chunks_ = 0;
};

}  // namespace nereus::worker
