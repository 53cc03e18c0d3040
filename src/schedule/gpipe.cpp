// GPipe (Huang 2019): all micro-batches forward, then all backward.
#include "schedule/order.hpp"

namespace nereus::schedule {

Order gpipe_order(const PipelineSize& size) {
  Order order(static_cast<std::size_t>(size.depth));
  for (int rank = 0; rank < size.depth; ++rank) {
    auto& own = order[rank];
    for (const Pass pass : {Pass::kForward, Pass::kBackward})
      for (int m = 0; m < size.micro_batches; ++m) own.push_back({pass, rank, m});
  }
  return order;
}

}  // namespace nereus::schedule
