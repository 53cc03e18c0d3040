// Interleaved 1F1B (Narayanan 2021): micro-batches pass a rank's chunks in groups of p, and rank i
// runs 2 (p - i - 1) + (v - 1) p chunks ahead.
#include <algorithm>

#include "schedule/order.hpp"

namespace nereus::schedule {

namespace {

// The k-th of a rank's m v passes in one direction: which chunk of which micro-batch.
struct Turn {
  int chunk;
  int micro_batch;
};

Turn turn_of(const PipelineSize& size, int k, bool forward) {
  const int round = size.depth * size.chunks;
  const int within = k % round;
  const int chunk = within / size.depth;
  return {forward ? chunk : size.chunks - 1 - chunk, k / round * size.depth + within % size.depth};
}

}  // namespace

Order interleaved_order(const PipelineSize& size) {
  Order order(static_cast<std::size_t>(size.depth));
  const int all = size.micro_batches * size.chunks;
  for (int rank = 0; rank < size.depth; ++rank) {
    auto& own = order[rank];
    const auto add = [&](Pass pass, int k) {
      const Turn turn = turn_of(size, k, pass == Pass::kForward);
      own.push_back({pass, turn.chunk * size.depth + rank, turn.micro_batch});
    };
    const int ahead = std::min(all, 2 * (size.depth - rank - 1) + (size.chunks - 1) * size.depth);
    int forward = 0;
    while (forward < ahead) add(Pass::kForward, forward++);
    for (int backward = 0; backward < all; ++backward) {
      if (forward < all) add(Pass::kForward, forward++);
      add(Pass::kBackward, backward);
    }
  }
  return order;
}

}  // namespace nereus::schedule
