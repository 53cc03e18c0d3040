// Simulates the passes of one replica's pipeline in their static order: when each pass starts and
// ends, how long every rank waits and for what, and how many micro-batches it holds at its peak.
//
// A rank runs one pass at a time, in its order. A pass starts when the rank is free and its inputs
// (schedule/order.hpp) have arrived: at once if they come from the same rank, after a transfer if
// they come from another. Times are whole picoseconds, so that sums are exact and the same on every
// machine.
//
// A message leaves when its pass has ended. With `blocking`, the sender is blocked until the
// message has arrived: with equal stages, a micro-batch then takes F + B + 2 c in the steady state,
// as in cost/pipeline_time.hpp. Without `blocking`, the sender continues at once. Then the messages
// of one sender in one direction (activations, gradients) share its wire: at most `at_once` of them
// are in flight at the same time.
//
//   bubble  = maximum over ranks of (end of last pass - start of first pass - busy time)
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

// Times of one micro-batch on one virtual stage. A whole backward pass takes input + weight.
// `recompute` is used if the order has recompute as a separate pass.
struct StageTimes {
  Picoseconds forward = 0;
  Picoseconds input = 0;
  Picoseconds weight = 0;
  Picoseconds send = 0;       // until its output is at the next stage, if that is on another rank
  Picoseconds send_back = 0;  // until its input's gradient is at the stage before
  Picoseconds recompute = 0;
  // The two send times when there is nothing to overlap with: for the activations of the rank's
  // first micro-batch, and for the gradients of its last.
  Picoseconds send_alone = kLikeOthers;
  Picoseconds send_back_alone = kLikeOthers;
  bool operator==(const StageTimes&) const = default;
};

struct PassTimes {
  std::vector<StageTimes> stages;     // by virtual stage
  std::vector<StageTimes> last = {};  // times of the last micro-batch if it is smaller, else empty
  bool blocking = false;              // senders wait until their messages have arrived
  // With `blocking`: how long the ends of the pipeline are blocked after the passes that send
  // nothing, i.e. forward passes of the last stage and backward passes of the first.
  Picoseconds ends = 0;
  int at_once = 1;  // messages in flight per sender and direction: 1 .. 4
};
PassTimes equal_times(const PipelineSize& size, const StageTimes& each);

// Checks `times`, in all simulators of this folder. A failed check is a bug, not a user error.
void check_times(const PassTimes& times, const PipelineSize& size);
Picoseconds pass_time(const PassTimes& times, const PipelineSize& size, const PipelineOp& op);
Picoseconds message_time(const PassTimes& times, const PipelineSize& size, const ProgramOp& op);

// Messages in flight from one rank in one direction.
struct Wires {
  static constexpr int kMost = 4;
  std::array<Picoseconds, kMost> free{};
  // Returns the arrival time of a message that is ready to leave at `from`.
  Picoseconds send(Picoseconds from, Picoseconds time, int at_once) {
    int first = 0;
    for (int i = 1; i < at_once; ++i)
      if (free[i] < free[first]) first = i;
    Picoseconds& own = free[first];
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
  std::vector<PlayedOp> ops;  // in the order of the rank's passes
  Picoseconds busy = 0;
  int peak = 0;                                      // micro-batches held, counted once per chunk
  std::array<Picoseconds, kNumPasses> busy_in = {};  // by Pass
  std::array<Picoseconds, kNumWaits> waited = {};    // by WaitCause, from time 0
  Picoseconds start() const { return ops.empty() ? 0 : ops.front().start; }
  Picoseconds end() const { return ops.empty() ? 0 : ops.back().end; }
  Picoseconds idle() const { return end() - start() - busy; }
};

struct PlayedPipeline {
  std::vector<PlayedRank> ranks;
  Picoseconds end = 0;      // end of the last pass
  std::int64_t events = 0;  // starts and ends of passes, and arrivals of messages
  Picoseconds bubble() const;
  int peak() const;
  void clear_sums();  // clears everything except the passes and peaks
};

// Simulates one order as often as wanted; only the constructor allocates.
class PipelinePlayer {
 public:
  PipelinePlayer(const Order& order, const PipelineSize& size,
                 RecomputeStart recompute = RecomputeStart::kEarly);
  // The result is valid until the next call. Without `draws`, every pass takes exactly its time.
  const PlayedPipeline& play(const PassTimes& times, const Draws* draws = nullptr);

 private:
  // The state of a pipeline rank during the simulation.
  struct Lane {
    Picoseconds free = 0;          // end of its last pass
    Picoseconds held = 0;          // when its last blocking send has arrived
    std::array<Wires, 2> wires{};  // per direction
    std::size_t next = 0;          // index of its next pass
  };

  PassProgram program_;
  std::vector<Picoseconds> there_;  // when the output of a pass is where it is needed
  std::vector<Lane> lanes_;
  PlayedPipeline played_;
};

// Throws Errors if the order is not valid, like compile() (schedule/program.hpp).
PlayedPipeline play(const Order& order, const PipelineSize& size, const PassTimes& times,
                    const Draws* draws = nullptr);

}  // namespace nereus::simulate
