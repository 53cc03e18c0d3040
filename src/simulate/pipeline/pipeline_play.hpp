// Plays the passes of one replica's pipeline in their static order: when each starts and ends, how
// long every rank waits and for what, how much it holds at most.
//
// A rank runs one pass at a time, in its order. A pass starts when the rank is free and what it
// waits for (schedule/order.hpp) has arrived: at once on the same rank, after a transfer
// from another. Times are whole picoseconds, so that sums are exact and the same everywhere.
//
// A message leaves when its pass has ended. Either its sender goes on at once; then messages of one
// sender in one direction (activations, gradients) go one after the other, none faster than its
// wire, or so many at once as the sender has under way. Or the sender is held up until its message
// has arrived (`blocking`): with equal stages a micro-batch then takes F + B + 2 c in the steady
// state, as in cost/pipeline_time.hpp.
//
//   bubble  = the largest over ranks of (end of its last pass - start of its first - its busy time)
//   peak    = the most micro-batches of a rank's virtual stages whose forward pass has begun and
//             whose backward pass (with weight gradients) has not ended
//   end of a rank's last pass = busy + waits, from time 0
//
//   PassTimes times = equal_times(size, {.forward = 10, .input = 10, .weight = 10});
//   PlayedPipeline played = play(order, size, times);
//   played.bubble();                              // picoseconds
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "simulate/pipeline/jitter.hpp"
#include "simulate/pipeline/passes.hpp"

namespace nereus::simulate {

inline constexpr Picoseconds kLikeOthers = -1;

// Of one micro-batch on one virtual stage. A whole backward pass takes input + weight; recompute is
// for orders that have it as a pass of its own.
struct StageTimes {
  Picoseconds forward = 0;
  Picoseconds input = 0;
  Picoseconds weight = 0;
  Picoseconds send = 0;  // until its output is at the next stage, where that is on another rank
  Picoseconds send_back = 0;  // until its input's gradient is at the stage before
  Picoseconds recompute = 0;
  // The same two where there is nothing to hide behind: activations of the rank's first
  // micro-batch, gradients of its last.
  Picoseconds send_alone = kLikeOthers;
  Picoseconds send_back_alone = kLikeOthers;
  bool operator==(const StageTimes&) const = default;
};

struct PassTimes {
  std::vector<StageTimes> stages;     // by virtual stage
  std::vector<StageTimes> last = {};  // of the last micro-batch, where it is smaller; or empty
  bool blocking = false;              // senders wait until their messages have arrived
  // Where they do: how long the ends of the pipeline are held up all the same, after forward passes
  // of the last stage and backward passes of the first, which send nothing.
  Picoseconds ends = 0;
  int at_once = 1;  // messages under way from a sender in a direction: 1 .. 4
};
PassTimes equal_times(const PipelineSize& size, const StageTimes& each);

// What the players of this folder ask of their callers.
void check_times(const PassTimes& times, const PipelineSize& size);
Picoseconds pass_time(const PassTimes& times, const PipelineSize& size, const PipelineOp& op);
Picoseconds message_time(const PassTimes& times, const PipelineSize& size, const ProgramOp& op);

// Messages under way from one rank in one direction.
struct Wires {
  static constexpr int kMost = 4;
  std::array<Picoseconds, kMost> free{};
  // When a message arrives that could leave at `from`.
  Picoseconds send(Picoseconds from, Picoseconds time, int at_once) {
    int first = 0;
    for (int i = 1; i < at_once; ++i)
      if (free[static_cast<std::size_t>(i)] < free[static_cast<std::size_t>(first)]) first = i;
    Picoseconds& own = free[static_cast<std::size_t>(first)];
    own = (own > from ? own : from) + time;
    return own;
  }
};

struct PlayedOp {
  Picoseconds start = 0;
  Picoseconds end = 0;
  bool operator==(const PlayedOp&) const = default;
};

// Why a rank did nothing.
enum class WaitCause { kInput, kGradient, kOwnSend };
inline constexpr int kNumWaits = 3;

struct PlayedRank {
  std::vector<PlayedOp> ops;  // as the order lists them
  Picoseconds busy = 0;
  int peak = 0;  // micro-batches held, each chunk of each counted
  std::array<Picoseconds, kNumPasses> busy_in = {};  // by Pass
  std::array<Picoseconds, kNumWaits> waited = {};    // by WaitCause, from time 0
  Picoseconds start() const { return ops.empty() ? 0 : ops.front().start; }
  Picoseconds end() const { return ops.empty() ? 0 : ops.back().end; }
  Picoseconds idle() const { return end() - start() - busy; }
};

struct PlayedPipeline {
  std::vector<PlayedRank> ranks;
  Picoseconds end = 0;      // of the last pass
  std::int64_t events = 0;  // starts and ends of passes, arrivals of messages
  Picoseconds bubble() const;
  int peak() const;
  void clear_sums();  // all but the passes and peaks
};

// One order, played as often as wanted; only making it allocates.
class PipelinePlayer {
 public:
  PipelinePlayer(const Order& order, const PipelineSize& size,
                 RecomputeStart recompute = RecomputeStart::kEarly);
  // Valid until the next call. Without `draws` all durations are as given.
  const PlayedPipeline& play(const PassTimes& times, const Draws* draws = nullptr);

 private:
  // A pipeline rank while it is played.
  struct Lane {
    Picoseconds free = 0;          // end of its last pass
    Picoseconds held = 0;          // until when its own messages hold it up
    std::array<Wires, 2> wires{};  // by direction
    std::size_t next = 0;          // of its passes
  };

  PassProgram program_;
  std::vector<Picoseconds> there_;  // when a pass's output is where it is needed
  std::vector<Lane> lanes_;
  PlayedPipeline played_;
};

// Throws Errors as compile does.
PlayedPipeline play(const Order& order, const PipelineSize& size, const PassTimes& times,
                    const Draws* draws = nullptr);

}  // namespace nereus::simulate
