// The first and the last layer of language models. Both have a table with a row per token, cut over
// the tensor ranks: the first looks up embeddings in it, the last computes logits with it. Tied
// weights are one table for both.
//
//   at::Tensor x = embed_tokens(w, 0, shape.vocab, pass);           // the table is weight 0
//   return token_loss(normed, w, 1, shape.vocab, pass);
#pragma once

#include "worker/models/models.hpp"

namespace nereus::worker {

// Returns [n, s, h] for pass.batch.inputs (a part of the sequence under sequence parallelism).
at::Tensor embed_tokens(const Weights& weights, int table, std::int64_t vocabulary,
                        PassContext& pass);

// The loss of pass.batch.targets, times pass.loss_scale. `x` is the output of the last norm; if the
// batch lists positions (masked tokens), only their tokens count. bias -1: none.
at::Tensor token_loss(const at::Tensor& x, const Weights& weights, int table,
                      std::int64_t vocabulary, PassContext& pass, int bias = -1);

// The head's table: `embedding` again if the weights are tied, else lm_head.weight.
Parameter head_table(const model::TransformerShape& shape, const char* embedding, const Init& init);

// One embedding, the blocks, and one head.
template <class Embedding, class Block, class Head>
Layers stack_layers(const model::TransformerShape& shape) {
  Layers layers;
  layers.push_back(std::make_unique<Embedding>(shape));
  for (int i = 0; i < shape.layers; ++i) layers.push_back(std::make_unique<Block>(shape, i));
  layers.push_back(std::make_unique<Head>(shape));
  return layers;
}

}  // namespace nereus::worker
