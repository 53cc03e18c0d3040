// 1F1B (Narayanan 2019): rank i runs p - i - 1 forward passes ahead, then one forward and one
// backward in turn.
#include <algorithm>

#include "schedule/order.hpp"

namespace nereus::schedule {

Order one_f_one_b_order(const PipelineSize& size) {
  Order order(static_cast<std::size_t>(size.depth));
  for (int rank = 0; rank < size.depth; ++rank) {
    auto& own = order[rank];
    int forward = 0;
    const int ahead = std::min(size.micro_batches, size.depth - rank - 1);
    while (forward < ahead) own.push_back({Pass::kForward, rank, forward++});
    for (int backward = 0; backward < size.micro_batches; ++backward) {
      if (forward < size.micro_batches) own.push_back({Pass::kForward, rank, forward++});
      own.push_back({Pass::kBackward, rank, backward});
    }
  }
  return order;
}

}  // namespace nereus::schedule
