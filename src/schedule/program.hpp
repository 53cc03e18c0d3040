// An order of passes, checked, and laid out so that playing it is one walk over an array.
//
// Which pass waits for which does not depend on how long they take. So one sequence in which every
// pass comes after all that it waits for (the passes before it on its rank, and the pass whose
// output it needs) serves any durations: it is found once, and so are orders that cannot be played.
//
//   const PassProgram program = compile(order, size);           // throws Errors
//   for (const ProgramOp& op : program.ops) ...             // in a sequence that can be played
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/error.hpp"

#include "schedule/order.hpp"

namespace nereus::schedule {

// When a recompute may start: as soon as its rank is free, or only once the gradient is there.
enum class RecomputeStart { kEarly, kWithGradient };

enum class MessageKind : std::uint8_t { kNone, kActivation, kGradient };

struct ProgramOp {
  PipelineOp op;
  int rank = 0;
  int needs = -1;  // index in PassProgram::ops of the pass whose output it needs; -1: none
  MessageKind sends = MessageKind::kNone;  // to another rank, when it is done
  // Of the messages that have nothing to hide behind: activations of the rank's first micro-batch,
  // gradients of its last.
  bool sends_alone = false;
};

struct PassProgram {
  PipelineSize size;
  std::vector<ProgramOp> ops;
  std::vector<int> num_ops;  // by rank
  std::vector<int> peaks;    // by rank: micro-batches held at most, each chunk of each counted
};

// Where the n-th pass of a rank is written, for errors; rank -1: the order as a whole.
using LocatePass = std::function<Where(int rank, int index)>;

// Errors: "simulate.order-pass" where a pass is missing, there twice or on two ranks;
// "simulate.order-cycle" where the order waits for itself, with the circle of passes.
PassProgram compile(const Order& order, const PipelineSize& size,
                    RecomputeStart recompute = RecomputeStart::kEarly,
                    const LocatePass& locate = {});

std::string to_text(const PipelineOp& op);  // "F3@1": forward of micro-batch 3 on stage 1
char letter_of(Pass pass);                  // F, B, I, W, R

}  // namespace nereus::schedule
