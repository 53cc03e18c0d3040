// ZB-H1 and ZB-H2 (Qi 2023): 1F1B with a split backward pass, and weight gradients so late that
// they fill the wait at the end. Rank i runs k (p - i) forward passes ahead and delays weight
// gradients by k i micro-batches, with k = 1 (the memory of 1F1B) or 2 (no bubble).
#include <algorithm>

#include "schedule/order.hpp"

namespace nereus::schedule {

namespace {

Order zb_h_order(const PipelineSize& size, int k) {
  Order order(static_cast<std::size_t>(size.depth));
  const int m = size.micro_batches;
  for (int rank = 0; rank < size.depth; ++rank) {
    auto& own = order[rank];
    int forward = 0;
    int weight = 0;
    const int ahead = std::min(m, k * (size.depth - rank));
    while (forward < ahead) own.push_back({Pass::kForward, rank, forward++});
    for (int input = 0; input < m; ++input) {
      own.push_back({Pass::kInput, rank, input});
      if (input >= k * rank) own.push_back({Pass::kWeight, rank, weight++});
      if (forward < m) own.push_back({Pass::kForward, rank, forward++});
    }
    while (weight < m) own.push_back({Pass::kWeight, rank, weight++});
  }
  return order;
}

}  // namespace

Order zb_h1_order(const PipelineSize& size) { return zb_h_order(size, 1); }
Order zb_h2_order(const PipelineSize& size) { return zb_h_order(size, 2); }

}  // namespace nereus::schedule
