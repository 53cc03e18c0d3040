// What language models share at their two ends: a table of the vocabulary, cut over the tensor
// ranks, that tokens are looked up in and logits are made with.
//
//   at::Tensor x = embed_tokens(w, 0, shape.vocab, pass);           // the table is weight 0
//   return token_loss(normed, w, 1, shape.vocab, pass);
#pragma once

#include "worker/models/models.hpp"

namespace nereus::worker {

// [n, s, h] (a part of the sequence under sequence parallelism) of pass.batch.inputs.
at::Tensor embed_tokens(const Weights& weights, int table, std::int64_t vocabulary,
                        PassContext& pass);

// The loss of pass.batch.targets, times pass.loss_scale. x is what the last norm gives; where the
// batch names positions, theirs alone are looked at. bias -1: none.
at::Tensor token_loss(const at::Tensor& x, const Weights& weights, int table,
                      std::int64_t vocabulary, PassContext& pass, int bias = -1);

// The head's table: `embedding` again where they are tied, else lm_head.weight.
Parameter head_table(const model::TransformerShape& shape, const char* embedding, const Init& init);

// One embedding, the blocks, one head.
template <class Embedding, class Block, class Head>
Layers stack_layers(const model::TransformerShape& shape) {
  Layers layers;
  layers.push_back(std::make_unique<Embedding>(shape));
  for (int i = 0; i < shape.layers; ++i) layers.push_back(std::make_unique<Block>(shape, i));
  layers.push_back(std::make_unique<Head>(shape));
  return layers;
}

}  // namespace nereus::worker
