#include "schedule/program.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"

namespace nereus::schedule {

namespace {

constexpr int kNone = -1;

const char* name_of(Pass pass) {
  switch (pass) {
    case Pass::kForward:
      return "forward";
    case Pass::kBackward:
      return "backward";
    case Pass::kInput:
      return "input gradient";
    case Pass::kWeight:
      return "weight gradient";
    case Pass::kRecompute:
      return "recompute";
  }
  return "";
}

// The results of a micro-batch on a stage. A whole backward pass fills the last two.
enum Slot { kForwardSlot, kRecomputeSlot, kBackwardSlot, kWeightSlot, kNumSlots };

Slot slot_of(Pass pass) {
  switch (pass) {
    case Pass::kForward:
      return kForwardSlot;
    case Pass::kRecompute:
      return kRecomputeSlot;
    case Pass::kWeight:
      return kWeightSlot;
    default:
      return kBackwardSlot;
  }
}

class Compiler {
 public:
  Compiler(const Order& order, const PipelineSize& size, RecomputeStart recompute,
           const LocatePass& locate)
      : order_(order), size_(size), recompute_(recompute), locate_(locate) {
    first_.push_back(0);
    for (const std::vector<PipelineOp>& rank : order)
      first_.push_back(first_.back() + static_cast<int>(rank.size()));
    cells_.assign(static_cast<std::size_t>(kNumSlots) *
                      static_cast<std::size_t>(size.num_stages()) *
                      static_cast<std::size_t>(size.micro_batches),
                  kNone);
    rank_of_.resize(static_cast<std::size_t>(first_.back()));
  }

  PassProgram compile() {
    place_passes();
    find_missing();
    sequence();
    return std::move(program_);
  }

 private:
  // Flat numbers of passes: those of rank 0 in turn, then of rank 1, ...
  int& cell(Slot slot, int stage, int micro_batch) {
    return cells_[(static_cast<std::size_t>(stage) * static_cast<std::size_t>(size_.micro_batches) +
                   static_cast<std::size_t>(micro_batch)) *
                      kNumSlots +
                  static_cast<std::size_t>(slot)];
  }
  int rank_of(int number) const { return rank_of_[number]; }
  const PipelineOp& op(int number) const {
    const auto rank = static_cast<std::size_t>(rank_of(number));
    return order_[rank][number - first_[rank]];
  }

  Where where(int number) const {
    if (!locate_) return {};
    if (number == kNone) return locate_(-1, -1);
    const int rank = rank_of(number);
    return locate_(rank, number - first_[rank]);
  }

  [[noreturn]] void complain(const PipelineOp& op, int number, const std::string& what) const {
    throw_input_error("simulate.order-pass",
                      fmt::format("{} of micro-batch {} on stage {} {}", name_of(op.pass),
                                  op.micro_batch, op.stage, what),
                      where(number), "every pass of every micro-batch once, on one rank");
  }

  void place(Slot slot, const PipelineOp& op, int number) {
    int& own = cell(slot, op.stage, op.micro_batch);
    if (own != kNone)
      complain(op, number,
               rank_of(own) == rank_of(number)
                   ? "is in the order twice"
                   : fmt::format("is on two ranks, {} and {}", rank_of(own), rank_of(number)));
    own = number;
  }

  void place_passes() {
    int number = 0;
    for (std::size_t rank = 0; rank < order_.size(); ++rank)
      for (const PipelineOp& op : order_[rank]) {
        rank_of_[number] = static_cast<int>(rank);
        if (op.stage < 0 || op.stage >= size_.num_stages() || op.micro_batch < 0 ||
            op.micro_batch >= size_.micro_batches)
          complain(op, number,
                   fmt::format("is none of this pipeline, which has {} and {}",
                               counted(size_.num_stages(), "stage"),
                               counted(size_.micro_batches, "micro-batch", "micro-batches")));
        place(slot_of(op.pass), op, number);
        if (op.pass == Pass::kBackward) place(kWeightSlot, op, number);
        ++number;
      }
  }

  void find_missing() {
    for (int stage = 0; stage < size_.num_stages(); ++stage)
      for (int m = 0; m < size_.micro_batches; ++m) {
        const int forward = cell(kForwardSlot, stage, m);
        if (forward == kNone)
          complain({Pass::kForward, stage, m}, kNone, "is missing from the order");
        for (const Slot slot : {kRecomputeSlot, kBackwardSlot, kWeightSlot}) {
          const int other = cell(slot, stage, m);
          if (other == kNone) {
            if (slot == kRecomputeSlot) continue;
            complain({slot == kBackwardSlot ? Pass::kInput : Pass::kWeight, stage, m}, kNone,
                     "is missing from the order");
          }
          if (rank_of(other) != rank_of(forward))
            complain(op(other), other,
                     fmt::format("is on rank {}, its forward pass on rank {}", rank_of(other),
                                 rank_of(forward)));
        }
      }
  }

  // The pass whose output it needs from another stage.
  int needs(const PipelineOp& op) {
    switch (op.pass) {
      case Pass::kForward:
        return op.stage > 0 ? cell(kForwardSlot, op.stage - 1, op.micro_batch) : kNone;
      case Pass::kRecompute:
        if (recompute_ == RecomputeStart::kEarly) return kNone;
        [[fallthrough]];
      case Pass::kBackward:
      case Pass::kInput:
        return op.stage + 1 < size_.num_stages() ? cell(kBackwardSlot, op.stage + 1, op.micro_batch)
                                                 : kNone;
      case Pass::kWeight:
        return kNone;
    }
    return kNone;
  }
  // The pass of its own stage that must have ended; with a recompute that has its forward before.
  int needs_of_own(const PipelineOp& op) {
    switch (op.pass) {
      case Pass::kForward:
        return kNone;
      case Pass::kRecompute:
        return cell(kForwardSlot, op.stage, op.micro_batch);
      case Pass::kWeight:
        return cell(kBackwardSlot, op.stage, op.micro_batch);
      default: {
        const int again = cell(kRecomputeSlot, op.stage, op.micro_batch);
        return again != kNone ? again : cell(kForwardSlot, op.stage, op.micro_batch);
      }
    }
  }
  // The unfinished pass that it waits for; kNone if there is none.
  int blocker(int number) {
    for (const int before : {needs_of_own(op(number)), needs(op(number))})
      if (before != kNone && place_[before] == kNone) return before;
    return kNone;
  }

  int end_of_unit(int number) const {
    const int last = first_[static_cast<std::size_t>(rank_of(number)) + 1] - 1;
    return op(number).with_next && number < last ? number + 1 : number;
  }

  void sequence() {
    const auto num_ops = static_cast<std::size_t>(first_.back());
    place_.assign(num_ops, kNone);
    std::vector<int> waiting(num_ops, kNone);  // the rank that waits for a pass
    next_.assign(first_.begin(), first_.end() - 1);
    program_.size = size_;
    program_.ops.reserve(num_ops);
    for (const std::vector<PipelineOp>& rank : order_)
      program_.num_ops.push_back(static_cast<int>(rank.size()));
    std::vector<int> ready;
    for (std::size_t rank = order_.size(); rank-- > 0;) ready.push_back(static_cast<int>(rank));
    while (!ready.empty()) {
      const auto rank = static_cast<std::size_t>(ready.back());
      ready.pop_back();
      // Advances as far as possible.
      while (next_[rank] < first_[rank + 1]) {
        const int first = next_[rank];
        const int last = end_of_unit(first);
        int before = kNone;
        for (int i = first; i <= last && before == kNone; ++i) before = blocker(i);
        if (before != kNone) {
          waiting[before] = static_cast<int>(rank);
          break;
        }
        for (int i = first; i <= last; ++i) add(i);
        for (int i = first; i <= last; ++i)
          if (const int other = waiting[i]; other != kNone) ready.push_back(other);
        next_[rank] = last + 1;
      }
    }
    for (std::size_t rank = 0; rank < order_.size(); ++rank)
      if (next_[rank] < first_[rank + 1]) complain_of_cycle(static_cast<int>(rank));
    find_messages();
    find_peaks();
  }

  void add(int number) {
    const int before = needs(op(number));
    place_[number] = static_cast<int>(program_.ops.size());
    program_.ops.push_back({op(number), rank_of(number), before == kNone ? kNone : place_[before]});
    program_.ops.back().op.with_next = end_of_unit(number) != number;
  }

  void find_messages() {
    for (const ProgramOp& op : program_.ops) {
      if (op.needs == kNone) continue;
      ProgramOp& from = program_.ops[op.needs];
      if (from.rank == op.rank) continue;
      from.sends =
          from.op.pass == Pass::kForward ? MessageKind::kActivation : MessageKind::kGradient;
    }
    // First and last micro-batch of each rank.
    std::vector<int> first(order_.size(), kNone);
    std::vector<int> last(order_.size(), kNone);
    for (std::size_t rank = 0; rank < order_.size(); ++rank)
      for (const PipelineOp& op : order_[rank]) {
        if (op.pass == Pass::kForward && first[rank] == kNone) first[rank] = op.micro_batch;
        if (slot_of(op.pass) == kBackwardSlot) last[rank] = op.micro_batch;
      }
    for (ProgramOp& op : program_.ops)
      op.sends_alone =
          op.op.micro_batch == (op.sends == MessageKind::kActivation ? first : last)[op.rank];
  }

  void find_peaks() {
    for (const std::vector<PipelineOp>& rank : order_) {
      int held = 0;
      int peak = 0;
      for (const PipelineOp& op : rank) {
        if (op.pass == Pass::kForward) peak = std::max(peak, ++held);
        if (op.pass == Pass::kBackward || op.pass == Pass::kWeight) --held;
      }
      program_.peaks.push_back(peak);
    }
  }

  // A rank that is stuck waits for a pass that comes after the next pass of another stuck rank, or
  // of itself; following these must lead to a cycle.
  [[noreturn]] void complain_of_cycle(int rank) {
    std::vector<int> seen;  // ranks
    while (std::find(seen.begin(), seen.end(), rank) == seen.end()) {
      seen.push_back(rank);
      rank = rank_of(blocked(rank).second);
    }
    seen.erase(seen.begin(), std::find(seen.begin(), seen.end(), rank));
    std::string circle;
    constexpr std::size_t kShown = 6;
    for (std::size_t i = 0; i < std::min(seen.size(), kShown); ++i) {
      const auto [stuck, before] = blocked(seen[i]);
      const int next = next_[rank_of(before)];
      circle += fmt::format("{}{} on rank {} waits for {}", i == 0 ? "" : "; ", to_text(op(stuck)),
                            seen[i], to_text(op(before)));
      if (before == next) continue;
      circle +=
          fmt::format(", which comes after {} on rank {}", to_text(op(next)), rank_of(before));
    }
    if (seen.size() > kShown)
      circle += fmt::format("; and {} more", counted(seen.size() - kShown, "rank"));
    throw_input_error("simulate.order-cycle", "the order waits for itself: " + circle,
                      where(blocked(seen.front()).first),
                      "F, R, B, I, W: forward, recompute, backward, its halves; F3@1: of "
                      "micro-batch 3 on stage 1");
  }
  // The pass at which a rank is stuck, and what that waits for.
  std::pair<int, int> blocked(int rank) {
    const int first = next_[rank];
    for (int i = first; i <= end_of_unit(first); ++i)
      if (const int before = blocker(i); before != kNone) return {i, before};
    NEREUS_CHECK(false, "a rank that is stuck waits for something");
  }

  const Order& order_;
  const PipelineSize& size_;
  RecomputeStart recompute_;
  const LocatePass& locate_;
  std::vector<int> first_;    // by rank, and one past the last
  std::vector<int> rank_of_;  // by number
  std::vector<int> cells_;    // numbers, by stage, micro-batch and slot
  std::vector<int> place_;    // in the program, by number
  std::vector<int> next_;     // by rank
  PassProgram program_;
};

}  // namespace

char letter_of(Pass pass) {
  constexpr char kLetters[kNumPasses] = {'F', 'B', 'I', 'W', 'R'};
  return kLetters[static_cast<std::size_t>(pass)];
}

std::string to_text(const PipelineOp& op) {
  return fmt::format("{}{}@{}", letter_of(op.pass), op.micro_batch, op.stage);
}

PassProgram compile(const Order& order, const PipelineSize& size, RecomputeStart recompute,
                    const LocatePass& locate) {
  NEREUS_CHECK(size.depth >= 1 && size.chunks >= 1 && size.micro_batches >= 0,
               "a pipeline has a size");
  return Compiler(order, size, recompute, locate).compile();
}

}  // namespace nereus::schedule
