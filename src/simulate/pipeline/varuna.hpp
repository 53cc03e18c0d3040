// Varuna's pipeline as its workers run it: the order of varuna.cpp, with forward passes pulled
// ahead.
//
// A rank takes the passes of its order in turn. Where the next is a recompute whose gradient has
// not arrived by then, and forward passes are left, the next of those runs first instead, and then
// even waits for its own input. Where none is left, the recompute runs at once
// (RecomputeStart::kEarly, the released workers), or waits for its gradient (kWithGradient, the
// released simulator).
//
// The released workers pull ahead as many as there are, and keep their inputs in host memory: up to
// all m. PullAhead::kWithinPeak pulls one only while the rank holds fewer than the static order
// does at its peak, so that memory stays what cost/pipeline_time.hpp says; else it recomputes at
// once. No ranks then wait for each other: a rank that is full, but whose neighbour behind is not,
// has sent that one three micro-batches more than it has back, so the gradient it waits for is on
// its way.
//
// What a rank runs next depends on when messages arrive, so ranks are advanced in the order of
// time: each runs on until it has to choose, and of all choices the earliest is made first. By then
// all passes that start earlier are known, so every arrival up to that moment is. At the same
// moment the higher rank chooses first.
//
//   VarunaPlayer player({.depth = 8, .chunks = 1, .micro_batches = 64});
//   const PlayedVaruna& step = player.play(times);
//   step.order[0];                         // as it was run; step.played.ranks[0].ops with it
#pragma once

#include "simulate/pipeline/pipeline_play.hpp"

namespace nereus::simulate {

enum class PullAhead { kAll, kWithinPeak };

struct PlayedVaruna {
  Order order;
  PlayedPipeline played;
};

// Only making it allocates.
class VarunaPlayer {
 public:
  explicit VarunaPlayer(const PipelineSize& size, RecomputeStart recompute = RecomputeStart::kEarly,
                        PullAhead pull = PullAhead::kAll);
  // Valid until the next call.
  const PlayedVaruna& play(const PassTimes& times, const Draws* draws = nullptr);

 private:
  // A pipeline rank while it is played.
  struct Lane {
    Picoseconds free = 0;  // end of its last pass
    Picoseconds held = 0;  // until when its own messages hold it up
    std::array<Wires, 2> wires{};
    PipelineOp next{};
    bool waits = false;        // `next` is chosen but its input's arrival is not known
    std::size_t position = 0;  // in its static order
    int forwards = 0;          // chosen so far
    std::size_t done = 0;      // passes
    int micro_batches = 0;     // that it holds
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

  // When the output of a forward (0) or backward (1) pass arrives; below 0: not known yet.
  std::size_t cell(int direction, int stage, int micro_batch) const {
    return (static_cast<std::size_t>(stage) * static_cast<std::size_t>(size_.micro_batches) +
            static_cast<std::size_t>(micro_batch)) *
               2 +
           static_cast<std::size_t>(direction);
  }

  PipelineSize size_;
  RecomputeStart recompute_;
  Order static_;
  std::vector<int> most_;  // by rank: micro-batches held where forward passes are still pulled
  std::vector<Picoseconds> there_;
  std::vector<Lane> lanes_;
  std::vector<Choice> choices_;  // a heap, the earliest on top
  std::vector<int> ready_;       // ranks that can go on
  const PassTimes* times_ = nullptr;
  const Draws* draws_ = nullptr;
  PlayedVaruna step_;
};

}  // namespace nereus::simulate
