#include "worker/models/vocabulary.hpp"

#include "worker/ops/linear.hpp"
#include "worker/ops/team.hpp"

namespace nereus::worker {

namespace {

std::int64_t first_row(std::int64_t vocabulary, const PassContext& pass) {
  return slice_bounds(vocabulary, pass.tensor_index(), pass.tensor_size()).first;
}

}  // namespace

at::Tensor embed_tokens(const Weights& weights, int table, std::int64_t vocabulary,
                        PassContext& pass) {
  return leave_region(embed(pass.batch.inputs, weights, table, first_row(vocabulary, pass), pass),
                      pass);
}

at::Tensor token_loss(const at::Tensor& x, const Weights& weights, int table,
                      std::int64_t vocabulary, PassContext& pass, int bias) {
  at::Tensor entered = enter_region(x, pass);
  if (const at::Tensor& at = pass.batch.positions; at.defined())
    entered = entered.gather(1, at.unsqueeze(-1).expand({at.size(0), at.size(1), entered.size(2)}));
  const auto [begin, end] = slice_bounds(vocabulary, pass.tensor_index(), pass.tensor_size());
  return cross_entropy(logits(entered, weights, table, bias, pass),
                       pass.batch.targets.reshape({-1}), {begin, end}, pass);
}

Parameter head_table(const model::TransformerShape& shape, const char* embedding,
                     const Init& init) {
  Parameter table{"lm_head.weight", {shape.vocab, shape.hidden}, {0, 1}, init};
  if (shape.tied_embeddings) {
    table.name = embedding;
    table.tied_to_layer = 0;
  }
  return table;
}

}  // namespace nereus::worker
