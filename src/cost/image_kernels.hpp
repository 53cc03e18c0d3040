// Time of convolutions and of the kernels between them: norms, activations, additions, pools.
//
// Convolutions run as GEMMs of the image (implicit GEMM, Chetlur 2014), at convolution_efficiency
// of a GEMM's rate. Units without tensor cores run 3 x 3 windows at stride 1 with fewer products
// (Lavin 2016). The other kernels take passes over the image at image_efficiency of the memory
// bandwidth; cost/kernel_time.hpp has the counts and their sources.
// Monotone: more bandwidth or a higher rate never makes a kernel slower.
//
//   if (op.kind == OpKind::kConvolution) return convolution_cost(op, kernels, split);
//   if (op.image) return image_cost(op, kernels, split);
#pragma once

#include "cost/kernel_time.hpp"

namespace nereus::cost {

// Whether an operator works on images.
bool on_images(const model::Operator& op);

OperatorCost convolution_cost(const model::Operator& op, const KernelModel& model,
                              const LayerSplit& split);
// Depthwise and other grouped convolutions.
OperatorCost grouped_convolution_cost(const model::Operator& op, const KernelModel& model,
                                      const LayerSplit& split);
// Batch norms, activations, additions and pools.
OperatorCost image_cost(const model::Operator& op, const KernelModel& model,
                        const LayerSplit& split);

}  // namespace nereus::cost
