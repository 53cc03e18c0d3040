// Memory of the worst rank.
//
//   weights, gradients, optimizer   parameters of the stage / tp, sharded by ZeRO over the data
//   group activations                     what backward needs, for each micro-batch in flight:
//     1F1B keeps min(m, pp - stage) of them, GPipe m, interleaved pp x (1 + (pp-1)/(pp v)) chunks'
//     worth (Narayanan 2021); full recompute keeps each layer's input plus one layer's own (Chen
//     2016); selective recompute drops the attention scores (Korthikanti 2022)
//   logits                          16-bit logits, fp32 copy and gradient of one micro-batch on the
//   last stage buffers                         gathered weights of two layers (ZeRO-3), collective
//   scratch
#pragma once

#include "cost/predict.hpp"
#include "cost/tables.hpp"

namespace nereus::cost {

Memory memory_of(const Tables& tables, const SplitCosts& split, const StageTable& stages,
                 const plan::Degrees& d, int num_micro_batches);

}  // namespace nereus::cost
