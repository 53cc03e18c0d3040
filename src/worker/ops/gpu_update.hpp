// A GPU's update of weights in one launch, whatever the number of layers: it reads the gradient,
// updates weight and moments, and writes the weight in bf16 where passes read it so. By libtorch it
// takes launches and copies a layer, for which the device waits: of ResNet-50, 1.6 to 3.4 ms a step
// on an H200, as fast as the host happened to be.
//
//   std::vector<UpdateSpan> spans = ..;       // a layer's parameters that decay, those that do not
//   GpuUpdate update;                         // one for every list of spans
//   if (!update.run(spans, constants)) ..     // no GPU, no NVRTC: nothing was done
//
// Spans are cut into chunks, one a block. The list of chunks stays on the device, and is made anew
// where a span has moved.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/device/torch.hpp"

namespace nereus::worker {

// Of one update: worker/state/optimizer.hpp has the formulas.
struct UpdateConstants {
  double rate, beta1, beta2, epsilon, momentum, decay, scale, correct1, correct2;
};

// In memory of the device, fp32 but for the last.
struct UpdateSpan {
  float* weights = nullptr;
  const float* gradients = nullptr;
  float* first = nullptr;
  float* second = nullptr;          // null: SGD
  std::uint16_t* narrow = nullptr;  // the same weights in bf16; null: there are none
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
