// Where a plan's compute is on the roofline of its device (Williams 2009): FLOP per byte of device
// memory traffic, compared with the ratio at which the device's peak and its memory bandwidth are
// balanced. Sums are over all layers of the model, for one micro-batch forward on one rank; each
// operand moves once.
//
// A kernel is bound by memory if its bytes take longer at the full bandwidth than its FLOPs at the
// peak. `memory_bound` is the share of compute time in such kernels.
//
//   Roofline r = predictor.roofline(degrees);
//   r.intensity() < r.ridge;            // more bandwidth would help more than more FLOP/s
#pragma once

namespace nereus::cost {

struct Roofline {
  double flops = 0;
  double bytes = 0;
  double ridge = 0;         // FLOP per byte: peak / bandwidth
  double memory_bound = 0;  // share of the seconds in memory-bound kernels
  double intensity() const { return bytes > 0 ? flops / bytes : 0; }
};

}  // namespace nereus::cost
