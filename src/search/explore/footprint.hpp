// First-principles footprint of a dense GPT on MP x DP: how many bytes must fit, and how many must
// be sent. For comparison with published estimates of the same kind.
//
// With parameters P = 12 L h^2 / mp per node (Narayanan 2021: 4 h^2 of attention and 8 h^2 of MLP
// per layer), mixed-precision Adam at 2 + 2 + 12 bytes (Rajbhandari 2020), t = mp:
//   ZeRO-0  16 P              ZeRO-1  4 P + 12 P / dp
//   ZeRO-2   2 P + 14 P / dp  ZeRO-3  16 P / dp
//   activations of one sequence  s h L (10 + 24 / t + 5 a s / (h t))     (Korthikanti 2022)
//   layer inputs only            2 s h L
//   one tensor-parallel all-reduce  2 s h bytes; four per layer, forward and backward
//   data-parallel all-reduce of a layer  24 h^2 / mp bytes
//
//   Footprint f = footprint({128, 25600, 160, 2048}, 8, 128);
//   f.zero[2];                    // bytes
#pragma once

#include <array>

namespace nereus::explore {

struct DenseShape {
  double layers = 0;
  double hidden = 0;
  double heads = 0;
  double seq = 0;
};

// Bytes per node.
struct Footprint {
  double parameters = 0;  // number of parameters
  std::array<double, 4> zero{};
  double activations = 0;   // of one sequence, all kept
  double layer_inputs = 0;  // of one sequence, everything else recomputed
  double tensor_all_reduce = 0;
  double num_tensor_all_reduces = 0;  // per iteration
  double data_all_reduce = 0;         // per layer
};

Footprint footprint(const DenseShape& shape, double mp, double dp);

}  // namespace nereus::explore
