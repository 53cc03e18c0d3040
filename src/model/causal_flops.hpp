// FLOPs of attention under a causal mask, of which a query sees only the keys before it.
//
// Of s x k scores, those in sight are a share 1 - k / (2 s): a half of the full square (k = s), and
// nearly all of a narrow window. Model FLOPs utilization counts the full square (Narayanan 2021;
// Chowdhery 2022); many papers count what is in sight (Dao 2022).
//
//   const double once = causal_training_flops(model);    // per sample; <= model.training_flops()
#pragma once

#include <algorithm>

#include "model/model.hpp"

namespace nereus::model {

// The share of the operator's scores that is in sight; 1 without a causal mask.
inline double share_in_sight(const Operator& op) {
  if (op.kind != OpKind::kAttention || !op.causal || op.rows <= 0) return 1;
  return 1 - std::min(op.keys, op.rows) / (2 * op.rows);
}

// Like Model::training_flops, with each score in sight counted once.
inline double causal_training_flops(const Model& model) {
  double hidden = 0;
  for (const int kind : model.layers)
    for (const Operator& op : model.kinds[kind].operators)
      hidden += 3 * op.flops * (1 - share_in_sight(op));
  return model.training_flops() - hidden;
}

}  // namespace nereus::model
