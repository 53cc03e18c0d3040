// Looped breadth-first (Lamy-Poirier 2023): all micro-batches pass one chunk before the next, and
// backward in the same way from the last chunk.
#include "schedule/order.hpp"

namespace nereus::schedule {

Order looped_bfs_order(const PipelineSize& size) {
  Order order(static_cast<std::size_t>(size.depth));
  for (int rank = 0; rank < size.depth; ++rank) {
    auto& own = order[rank];
    for (int chunk = 0; chunk < size.chunks; ++chunk)
      for (int m = 0; m < size.micro_batches; ++m)
        own.push_back({Pass::kForward, chunk * size.depth + rank, m});
    for (int chunk = size.chunks - 1; chunk >= 0; --chunk)
      for (int m = 0; m < size.micro_batches; ++m)
        own.push_back({Pass::kBackward, chunk * size.depth + rank, m});
  }
  return order;
}

}  // namespace nereus::schedule
