// Varuna's pipeline as its workers run it: the order of varuna.cpp, with forward passes pulled
// ahead.
//
// A rank runs the passes of its order in turn. If the next pass is a recompute whose gradient has
// not arrived yet, and forward passes are left, the next forward pass runs first; the rank even
// waits for that pass's input. If no forward pass is left, the recompute runs at once
// (RecomputeStart::kEarly, as in the released workers), or waits for its gradient (kWithGradient,
// as in the released simulator).
//
// The released workers pull ahead any number of forward passes, up to all m, and keep the inputs of
// these passes in host memory. PullAhead::kWithinPeak pulls one ahead only while the rank holds
// fewer micro-batches than the static order does at its peak, so that memory stays as in
// cost/pipeline_time.hpp; otherwise the rank recomputes at once. Ranks cannot deadlock then: if a
// rank is full but the next one is not, the rank has sent three micro-batches more than it has
// received gradients, so the gradient that it waits for is in flight.
//
// Which pass a rank runs next depends on when messages arrive, so ranks advance in the order of
// time: each runs until it must choose, and the earliest choice of all ranks is made first. By then
// all passes that start earlier are known, and so are all arrivals up to that time. If two ranks
// choose at the same time, the higher rank chooses first.
//
//   VarunaPlayer player({.depth = 8, .chunks = 1, .micro_batches = 64});
//   const PlayedVaruna& step = player.play(times);
//   step.order[0];                         // in the order of execution, like step.played
#pragma once

#include "simulate/pipeline/pipeline_play.hpp"

namespace nereus::simulate {

enum class PullAhead { kAll, kWithinPeak };

struct PlayedVaruna {
  Order order;
  PlayedPipeline played;
};

// Only the constructor allocates.
class VarunaPlayer {
 public:
  explicit VarunaPlayer(const PipelineSize& size, RecomputeStart recompute = RecomputeStart::kEarly,
                        PullAhead pull = PullAhead::kAll);
  // The result is valid until the next call.
  const PlayedVaruna& play(const PassTimes& times, const Draws* draws = nullptr);

 private:
  // The state of a pipeline rank during the simulation.
  struct Lane {
    Picoseconds free = 0;  // end of its last pass
    Picoseconds held = 0;  // when its blocking messages have arrived
    std::array<Wires, 2> wires{};
    PipelineOp next{};
    bool waits = false;        // `next` is chosen, but the arrival of its input is unknown
    std::size_t position = 0;  // in its static order
    int forwards = 0;          // chosen so far
    std::size_t done = 0;      // number of passes run
    int micro_batches = 0;     // micro-batches that it holds
  };
  struct Choice {
    Picoseconds at = 0;
    int rank = 0;
  };

  void start(const PassTimes& times, const Draws* draws);
  void advance(int rank);
  bool pick(int rank);
  bool may_pull(const Lane& lane, int rank) const;
  void choose(const Choice& choice);
  void take(Lane& lane, const PipelineOp& op);
  void pull_forward(Lane& lane, int rank);
  const Picoseconds* input_of(const PipelineOp& op) const;
  bool run(int rank);
  void send(int rank, const PipelineOp& op, Picoseconds end);
  static bool later(const Choice& a, const Choice& b);

  // When the output of a forward (0) or backward (1) pass arrives; below 0: unknown.
  std::size_t cell(int direction, int stage, int micro_batch) const {
    return (static_cast<std::size_t>(stage) * static_cast<std::size_t>(size_.micro_batches) +
            static_cast<std::size_t>(micro_batch)) *
               2 +
           static_cast<std::size_t>(direction);
  }

  PipelineSize size_;
  RecomputeStart recompute_;
  Order static_;
  // By rank: forward passes are pulled ahead while it holds fewer micro-batches.
  std::vector<int> most_;
  std::vector<Picoseconds> there_;
  std::vector<Lane> lanes_;
  std::vector<Choice> choices_;  // a heap, the earliest on top
  std::vector<int> ready_;       // ranks that can continue
  const PassTimes* times_ = nullptr;
  const Draws* draws_ = nullptr;
  PlayedVaruna step_;
};

}  // namespace nereus::simulate
