// Varuna's order (Athlur 2022, its released generator of schedules): the order of a pipeline in
// which a forward pass, a recompute and each half of a backward pass take one tick, and messages
// take none. In every tick, every rank runs the oldest of the first of these that it has:
//   the second half of a backward pass, its first half, a recompute, a forward pass.
// A forward pass triggers that of the next stage; on the last stage it triggers its backward pass,
// which needs no recompute. The first half of a backward pass triggers its second half, and the
// recompute on the previous stage, which then runs concurrently with the second half. A recompute
// triggers its backward pass. So at most one micro-batch of a rank has all its activations, and
// rank i holds the inputs of up to 3 (p - 1 - i) micro-batches, the last rank of one.
#include <deque>

#include "schedule/order.hpp"

namespace nereus::schedule {

namespace {

enum Task { kSecondHalf, kFirstHalf, kAgain, kAhead, kNumTasks };  // the first goes first

struct Rank {
  std::deque<int> queues[kNumTasks];  // micro-batches
  int task = kNumTasks;               // of this tick
  int micro_batch = 0;
};

void take_next(Rank& rank) {
  for (rank.task = 0; rank.task < kNumTasks; ++rank.task) {
    std::deque<int>& queue = rank.queues[rank.task];
    if (queue.empty()) continue;
    rank.micro_batch = queue.front();
    queue.pop_front();
    return;
  }
}

}  // namespace

Order varuna_order(const PipelineSize& size) {
  const auto depth = static_cast<std::size_t>(size.depth);
  Order order(depth);
  std::vector<Rank> ranks(depth);
  for (int m = 0; m < size.micro_batches; ++m) ranks[0].queues[kAhead].push_back(m);
  for (bool busy = true; busy;) {
    busy = false;
    for (std::size_t i = 0; i < depth; ++i) {
      take_next(ranks[i]);
      if (ranks[i].task == kNumTasks) continue;
      busy = true;
      constexpr Pass kPasses[kNumTasks] = {Pass::kBackward, Pass::kBackward, Pass::kRecompute,
                                           Pass::kForward};
      if (ranks[i].task != kSecondHalf)
        order[i].push_back({kPasses[ranks[i].task], static_cast<int>(i), ranks[i].micro_batch});
    }
    // What this tick triggers can start in the next one.
    for (std::size_t i = 0; i < depth; ++i) {
      const int m = ranks[i].micro_batch;
      switch (ranks[i].task) {
        case kAhead:
          if (i + 1 < depth)
            ranks[i + 1].queues[kAhead].push_back(m);
          else
            ranks[i].queues[kFirstHalf].push_back(m);
          break;
        case kAgain:
          ranks[i].queues[kFirstHalf].push_back(m);
          break;
        case kFirstHalf:
          ranks[i].queues[kSecondHalf].push_back(m);
          if (i > 0) ranks[i - 1].queues[kAgain].push_back(m);
          break;
        default:
          break;
      }
    }
  }
  return order;
}

}  // namespace nereus::schedule
