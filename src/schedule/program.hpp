// An order of passes, checked, and laid out so that simulating it is one loop over an array.
//
// Which pass waits for which does not depend on durations. So one sequence in which every pass
// comes after all passes it waits for (those before it on its rank, and the one whose output it
// needs) is valid for any durations. compile() finds it once, and detects orders that cannot run.
//
//   const PassProgram program = compile(order, size);           // throws Errors
//   for (const ProgramOp& op : program.ops) ...             // in a valid sequence
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/error.hpp"

#include "schedule/order.hpp"

namespace nereus::schedule {

// When a recompute may start: as soon as its rank is free, or only when the gradient has arrived.
enum class RecomputeStart { kEarly, kWithGradient };

enum class MessageKind : std::uint8_t { kNone, kActivation, kGradient };

struct ProgramOp {
  PipelineOp op;
  int rank = 0;
  int needs = -1;  // index in PassProgram::ops of the pass whose output this pass needs; -1: none
  MessageKind sends = MessageKind::kNone;  // to another rank, after the pass
  // Whether its message has nothing to overlap with: activations of the rank's first micro-batch,
  // gradients of its last.
  bool sends_alone = false;
};

struct PassProgram {
  PipelineSize size;
  std::vector<ProgramOp> ops;
  std::vector<int> num_ops;  // by rank
  std::vector<int> peaks;    // by rank: most micro-batches held, counted once per chunk
};

// Where the n-th pass of a rank is written, for errors; rank -1: the whole order.
using LocatePass = std::function<Where(int rank, int index)>;

// Throws "simulate.order-pass" if a pass is missing, is there twice, or is on two ranks, and
// "simulate.order-cycle", with the passes of the cycle, if the order deadlocks.
PassProgram compile(const Order& order, const PipelineSize& size,
                    RecomputeStart recompute = RecomputeStart::kEarly,
                    const LocatePass& locate = {});

std::string to_text(const PipelineOp& op);  // "F3@1": forward of micro-batch 3 on stage 1
char letter_of(Pass pass);                  // F, B, I, W, R

}  // namespace nereus::schedule
