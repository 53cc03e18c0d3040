// Plays the passes of one replica's pipeline in their static order: when each starts and ends, how
// long every rank waits, how much it holds at most.
//
// A rank runs one pass at a time, in its order. A pass starts when the rank is free and what it
// waits for (simulate/pipeline/order.hpp) has arrived: at once on the same rank, after a transfer
// from another. Times are whole picoseconds, so that sums are exact and the same everywhere.
//
//   bubble  = the largest over ranks of (end of its last pass - start of its first - its busy time)
//   peak    = the most micro-batches of a rank's virtual stages whose forward pass has begun and
//             whose backward pass (with weight gradients) has not ended
//
//   PassTimes times = equal_times(size, {.forward = 10, .input = 10, .weight = 10});
//   PlayedPipeline played = play(order, size, times);
//   played.bubble();                              // picoseconds
#pragma once

#include <cstdint>
#include <vector>

#include "simulate/pipeline/order.hpp"

namespace nereus::simulate {

using Picoseconds = std::int64_t;

// Of one micro-batch on one virtual stage. A whole backward pass takes input + weight.
struct StageTimes {
  Picoseconds forward = 0;
  Picoseconds input = 0;
  Picoseconds weight = 0;
  Picoseconds send = 0;       // its output to the next stage, where that is on another rank
  Picoseconds send_back = 0;  // its input's gradient to the stage before
  bool operator==(const StageTimes&) const = default;
};

struct PassTimes {
  std::vector<StageTimes> stages;  // by virtual stage
};
PassTimes equal_times(const PipelineSize& size, const StageTimes& each);

struct PlayedOp {
  Picoseconds start = 0;
  Picoseconds end = 0;
  bool operator==(const PlayedOp&) const = default;
};

struct PlayedRank {
  std::vector<PlayedOp> ops;  // as the order lists them
  Picoseconds busy = 0;
  int peak = 0;  // micro-batches held, each chunk of each counted
  Picoseconds start() const { return ops.empty() ? 0 : ops.front().start; }
  Picoseconds end() const { return ops.empty() ? 0 : ops.back().end; }
  Picoseconds idle() const { return end() - start() - busy; }
};

struct PlayedPipeline {
  std::vector<PlayedRank> ranks;
  Picoseconds end = 0;  // of the last pass
  Picoseconds bubble() const;
  int peak() const;
};

// Throws Errors ("simulate.order-cycle", "simulate.order-pass") where an order waits for itself, or
// misses a pass or has it twice.
PlayedPipeline play(const Order& order, const PipelineSize& size, const PassTimes& times);

}  // namespace nereus::simulate
