// Masked language modeling (Devlin 2019, 1810.04805): in every sample, a fixed number of positions
// is chosen, 15 % of them. The word there is replaced by [MASK] in 80 % of the cases, by a random
// word in 10 %, and stays in 10 %. The model must predict the original words at all chosen
// positions.
//
// The positions and replacements depend only on (seed, step, sample), so every plan hides the same
// words. The number of positions is the same for every sample, so all ranks know the divisor of the
// loss, which is the number of masked positions in the whole step.
//
//   Batch batch = hide_words(tokens, shape, seed, step, first_sample);
//   batch.targets;      // [n, m]: the original words
//   batch.positions;    // [n, m]: their positions, ascending
#pragma once

#include "worker/ops/layer.hpp"

namespace nereus::worker {

// 103 for Google's vocabularies, cased (28,996) and uncased (30,522); otherwise the last token. A
// tokenizer that leaves this token unused works best.
std::int64_t mask_token(std::int64_t vocabulary);

// `tokens` is [n, s].
Batch hide_words(const at::Tensor& tokens, const model::TransformerShape& shape, std::uint64_t seed,
                 std::int64_t step, std::int64_t first_sample);

}  // namespace nereus::worker
