// Masked language modelling (Devlin 2019, 1810.04805): of every sample a fixed number of positions
// is chosen, 15 % of them; the word there becomes [MASK] in 80 % of the cases, any word in 10 %,
// and stays in 10 %. The model is to tell all of them.
//
// Which positions and what becomes of them is decided by (seed, step, sample) alone, so every plan
// hides the same words. The number is the same for every sample, so that the divisor of the loss,
// masked positions of the whole step, is known to all ranks.
//
//   Batch batch = hide_words(tokens, shape, seed, step, first_sample);
//   batch.targets;      // [n, m]: the words that were there
//   batch.positions;    // [n, m]: where, in rising order
#pragma once

#include "worker/ops/layer.hpp"

namespace nereus::worker {

// Of Google's vocabularies, cased (28,996) and uncased (30,522), 103. Of any other the last token:
// a tokenizer that leaves it free serves best.
std::int64_t mask_token(std::int64_t vocabulary);

// tokens [n, s].
Batch hide_words(const at::Tensor& tokens, const model::TransformerShape& shape, std::uint64_t seed,
                 std::int64_t step, std::int64_t first_sample);

}  // namespace nereus::worker
