#include "simulate/pipeline/play.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace nereus::simulate {

namespace {

constexpr Picoseconds kNotYet = -1;

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
  }
  return "";
}

// Forward and backward passes, and weight gradients, by stage and micro-batch.
enum Slot { kForwardSlot, kBackwardSlot, kWeightSlot, kNumSlots };

Slot slot_of(Pass pass) {
  if (pass == Pass::kForward) return kForwardSlot;
  return pass == Pass::kWeight ? kWeightSlot : kBackwardSlot;
}

class Player {
 public:
  Player(const Order& order, const PipelineSize& size, const PassTimes& times)
      : order_(order), size_(size), times_(times), cells_(num_cells()) {
    played_.ranks.resize(order.size());
    next_.resize(order.size());
    free_.resize(order.size());
    place_passes();
  }

  PlayedPipeline run() {
    std::vector<int> ready;
    for (std::size_t rank = 0; rank < order_.size(); ++rank)
      ready.push_back(static_cast<int>(rank));
    while (!ready.empty()) {
      const int rank = ready.back();
      ready.pop_back();
      advance(rank, ready);
    }
    for (std::size_t rank = 0; rank < order_.size(); ++rank)
      if (next_[rank] < order_[rank].size()) complain_of_cycle(rank);
    finish();
    return std::move(played_);
  }

 private:
  // One pass of the pipeline: where it runs, when it ended, who waits for it.
  struct Cell {
    int rank = -1;
    Picoseconds end = kNotYet;
    int waiting = -1;
  };

  std::size_t num_cells() const {
    return static_cast<std::size_t>(kNumSlots) * static_cast<std::size_t>(size_.num_stages()) *
           static_cast<std::size_t>(size_.micro_batches);
  }
  Cell& cell(Slot slot, int stage, int micro_batch) {
    return cells_[(static_cast<std::size_t>(slot) * static_cast<std::size_t>(size_.num_stages()) +
                   static_cast<std::size_t>(stage)) *
                      static_cast<std::size_t>(size_.micro_batches) +
                  static_cast<std::size_t>(micro_batch)];
  }
  const StageTimes& times(int stage) const {
    return times_.stages[static_cast<std::size_t>(stage)];
  }

  [[noreturn]] void complain(const PipelineOp& op, const char* what) const {
    throw_input_error("simulate.order-pass",
                      fmt::format("{} of micro-batch {} on stage {} {}", name_of(op.pass),
                                  op.micro_batch, op.stage, what),
                      {}, "every pass of every micro-batch once, on one rank");
  }

  void place_passes() {
    std::size_t count = 0;
    for (std::size_t rank = 0; rank < order_.size(); ++rank)
      for (const PipelineOp& op : order_[rank]) {
        if (op.stage < 0 || op.stage >= size_.num_stages() || op.micro_batch < 0 ||
            op.micro_batch >= size_.micro_batches)
          complain(op, "is none of this pipeline");
        Cell& own = cell(slot_of(op.pass), op.stage, op.micro_batch);
        if (own.rank >= 0) complain(op, "is in the order twice");
        own.rank = static_cast<int>(rank);
        ++count;
        if (op.pass != Pass::kBackward) continue;
        // A whole backward pass is both halves.
        Cell& weight = cell(kWeightSlot, op.stage, op.micro_batch);
        if (weight.rank >= 0) complain(op, "is in the order twice");
        weight.rank = static_cast<int>(rank);
        ++count;
      }
    if (count == num_cells()) return;
    for (int slot = 0; slot < kNumSlots; ++slot)
      for (int stage = 0; stage < size_.num_stages(); ++stage)
        for (int m = 0; m < size_.micro_batches; ++m)
          if (cell(static_cast<Slot>(slot), stage, m).rank < 0)
            complain({slot == kForwardSlot    ? Pass::kForward
                      : slot == kBackwardSlot ? Pass::kInput
                                              : Pass::kWeight,
                      stage, m},
                     "is missing from the order");
  }

  // When what the op waits for has arrived on its rank; kNotYet, and the rank put down as waiting,
  // where something is still to come.
  Picoseconds arrival(const PipelineOp& op, int rank) {
    Picoseconds at = 0;
    const auto wait_for = [&](Slot slot, int stage, Picoseconds transfer) {
      if (at == kNotYet) return;
      Cell& dependency = cell(slot, stage, op.micro_batch);
      if (dependency.end == kNotYet) {
        dependency.waiting = rank;
        at = kNotYet;
        return;
      }
      at = std::max(at, dependency.end + (dependency.rank == rank ? 0 : transfer));
    };
    switch (op.pass) {
      case Pass::kForward:
        if (op.stage > 0) wait_for(kForwardSlot, op.stage - 1, times(op.stage - 1).send);
        break;
      case Pass::kBackward:
      case Pass::kInput:
        wait_for(kForwardSlot, op.stage, 0);
        if (op.stage + 1 < size_.num_stages())
          wait_for(kBackwardSlot, op.stage + 1, times(op.stage + 1).send_back);
        break;
      case Pass::kWeight:
        wait_for(kBackwardSlot, op.stage, 0);
        break;
    }
    return at;
  }

  Picoseconds duration(const PipelineOp& op) const {
    const StageTimes& own = times(op.stage);
    switch (op.pass) {
      case Pass::kForward:
        return own.forward;
      case Pass::kBackward:
        return own.input + own.weight;
      case Pass::kInput:
        return own.input;
      case Pass::kWeight:
        return own.weight;
    }
    return 0;
  }

  void end_at(const PipelineOp& op, Picoseconds at, std::vector<int>& ready) {
    const auto end_one = [&](Slot slot) {
      Cell& own = cell(slot, op.stage, op.micro_batch);
      own.end = at;
      if (own.waiting >= 0) ready.push_back(own.waiting);
      own.waiting = -1;
    };
    end_one(slot_of(op.pass));
    if (op.pass == Pass::kBackward) end_one(kWeightSlot);
  }

  // Runs a rank as far as it gets.
  void advance(int rank, std::vector<int>& ready) {
    const auto r = static_cast<std::size_t>(rank);
    const std::vector<PipelineOp>& own = order_[r];
    std::vector<PlayedOp>& ops = played_.ranks[r].ops;
    while (next_[r] < own.size()) {
      const std::size_t first = next_[r];
      const std::size_t last = own[first].with_next && first + 1 < own.size() ? first + 1 : first;
      Picoseconds start = free_[r];
      Picoseconds busy = 0;
      for (std::size_t i = first; i <= last; ++i) {
        const Picoseconds at = arrival(own[i], rank);
        if (at == kNotYet) return;
        start = std::max(start, at);
        busy += duration(own[i]);
      }
      for (std::size_t i = first; i <= last; ++i) {
        const bool alone = first == last;
        // Of a pair each takes its part of the time, but both are there at the end.
        const Picoseconds begin = alone || i == first ? start : ops.back().end;
        ops.push_back({begin, begin + duration(own[i])});
        end_at(own[i], start + busy, ready);
      }
      free_[r] = start + busy;
      played_.ranks[r].busy += busy;
      next_[r] = last + 1;
    }
  }

  [[noreturn]] void complain_of_cycle(std::size_t rank) const {
    const PipelineOp& op = order_[rank][next_[rank]];
    throw_input_error(
        "simulate.order-cycle",
        fmt::format(
            "the order waits for itself: rank {} cannot start {} of micro-batch {} on stage "
            "{}, its pass number {}",
            rank, name_of(op.pass), op.micro_batch, op.stage, next_[rank] + 1));
  }

  void finish() {
    for (std::size_t rank = 0; rank < order_.size(); ++rank) {
      int held = 0;
      for (const PipelineOp& op : order_[rank]) {
        if (op.pass == Pass::kForward) ++held;
        played_.ranks[rank].peak = std::max(played_.ranks[rank].peak, held);
        if (op.pass == Pass::kBackward || op.pass == Pass::kWeight) --held;
      }
      played_.end = std::max(played_.end, played_.ranks[rank].end());
    }
  }

  const Order& order_;
  const PipelineSize& size_;
  const PassTimes& times_;
  std::vector<Cell> cells_;
  std::vector<std::size_t> next_;
  std::vector<Picoseconds> free_;
  PlayedPipeline played_;
};

}  // namespace

PassTimes equal_times(const PipelineSize& size, const StageTimes& each) {
  return {std::vector<StageTimes>(static_cast<std::size_t>(size.num_stages()), each)};
}

Picoseconds PlayedPipeline::bubble() const {
  Picoseconds most = 0;
  for (const PlayedRank& rank : ranks) most = std::max(most, rank.idle());
  return most;
}

int PlayedPipeline::peak() const {
  int most = 0;
  for (const PlayedRank& rank : ranks) most = std::max(most, rank.peak);
  return most;
}

PlayedPipeline play(const Order& order, const PipelineSize& size, const PassTimes& times) {
  NEREUS_CHECK(times.stages.size() == static_cast<std::size_t>(size.num_stages()),
               "every virtual stage has its times");
  return Player(order, size, times).run();
}

}  // namespace nereus::simulate
