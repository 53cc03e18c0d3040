#include "simulate/pipeline/pipeline_play.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace nereus::simulate {

namespace {

const StageTimes& times_of(const PassTimes& times, const PipelineSize& size, const PipelineOp& op) {
  const bool last = !times.last.empty() && op.micro_batch == size.micro_batches - 1;
  return (last ? times.last : times.stages)[op.stage];
}

WaitCause cause_of(Pass pass) {
  return pass == Pass::kForward ? WaitCause::kInput : WaitCause::kGradient;
}

// A pass whose output would go beyond the pipeline.
bool at_end(const PipelineOp& op, const PipelineSize& size) {
  if (op.pass == Pass::kForward) return op.stage == size.num_stages() - 1;
  return (op.pass == Pass::kBackward || op.pass == Pass::kInput) && op.stage == 0;
}

}  // namespace

PassTimes equal_times(const PipelineSize& size, const StageTimes& each) {
  return {std::vector<StageTimes>(static_cast<std::size_t>(size.num_stages()), each)};
}

void check_times(const PassTimes& times, const PipelineSize& size) {
  const auto num_stages = static_cast<std::size_t>(size.num_stages());
  NEREUS_CHECK(
      times.stages.size() == num_stages && (times.last.empty() || times.last.size() == num_stages),
      "every virtual stage has its times");
  NEREUS_CHECK(times.at_once >= 1 && times.at_once <= Wires::kMost, "1 to 4 messages at once");
}

Picoseconds pass_time(const PassTimes& times, const PipelineSize& size, const PipelineOp& op) {
  const StageTimes& own = times_of(times, size, op);
  switch (op.pass) {
    case Pass::kForward:
      return own.forward;
    case Pass::kBackward:
      return own.input + own.weight;
    case Pass::kInput:
      return own.input;
    case Pass::kWeight:
      return own.weight;
    case Pass::kRecompute:
      return own.recompute;
  }
  return 0;
}

Picoseconds message_time(const PassTimes& times, const PipelineSize& size, const ProgramOp& op) {
  const StageTimes& own = times_of(times, size, op.op);
  const bool forward = op.sends == MessageKind::kActivation;
  const Picoseconds alone = forward ? own.send_alone : own.send_back_alone;
  if (op.sends_alone && alone != kLikeOthers) return alone;
  return forward ? own.send : own.send_back;
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

void PlayedPipeline::clear_sums() {
  for (PlayedRank& rank : ranks) {
    rank.busy = 0;
    rank.busy_in = {};
    rank.waited = {};
  }
  end = 0;
  events = 0;
}

PipelinePlayer::PipelinePlayer(const Order& order, const PipelineSize& size,
                               RecomputeStart recompute)
    : program_(compile(order, size, recompute)), there_(program_.ops.size()), lanes_(order.size()) {
  played_.ranks.resize(order.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    played_.ranks[rank].ops.resize(order[rank].size());
    played_.ranks[rank].peak = program_.peaks[rank];
  }
}

const PlayedPipeline& PipelinePlayer::play(const PassTimes& times, const Draws* draws) {
  const PipelineSize& size = program_.size;
  check_times(times, size);
  std::fill(lanes_.begin(), lanes_.end(), Lane{});
  played_.clear_sums();
  const std::vector<ProgramOp>& ops = program_.ops;
  std::int64_t messages = 0;
  for (std::size_t first = 0; first < ops.size();) {
    const std::size_t last = first + (ops[first].op.with_next ? 1 : 0);
    const auto r = static_cast<std::size_t>(ops[first].rank);
    Lane& lane = lanes_[r];
    PlayedRank& rank = played_.ranks[r];
    Picoseconds start = std::max(lane.free, lane.held);
    rank.waited[static_cast<std::size_t>(WaitCause::kOwnSend)] += start - lane.free;
    for (std::size_t i = first; i <= last; ++i) {
      if (ops[i].needs < 0) continue;
      const Picoseconds arrival = there_[ops[i].needs];
      if (arrival <= start) continue;
      rank.waited[static_cast<std::size_t>(cause_of(ops[i].op.pass))] += arrival - start;
      start = arrival;
    }
    Picoseconds end = start;
    for (std::size_t i = first; i <= last; ++i) {
      const PipelineOp& op = ops[i].op;
      Picoseconds time = pass_time(times, size, op);
      if (draws != nullptr) time = draws->compute(ops[i].rank, draw_key(op), time);
      rank.ops[lane.next++] = {end, end + time};
      rank.busy_in[static_cast<std::size_t>(op.pass)] += time;
      end += time;
    }
    rank.busy += end - start;
    lane.free = end;
    // Each pass of a pair takes its part of the time, but both end together.
    for (std::size_t i = first; i <= last; ++i) {
      there_[i] = end;
      if (times.blocking && at_end(ops[i].op, size))
        lane.held = std::max(lane.held, end + times.ends);
      if (ops[i].sends == MessageKind::kNone) continue;
      ++messages;
      Picoseconds time = message_time(times, size, ops[i]);
      if (draws != nullptr) time = draws->link(draw_key(ops[i].op), time);
      Wires& wires = lane.wires[ops[i].sends == MessageKind::kActivation ? 0 : 1];
      there_[i] = wires.send(end, time, times.at_once);
      if (times.blocking) lane.held = std::max(lane.held, there_[i]);
    }
    played_.end = std::max(played_.end, end);
    first = last + 1;
  }
  played_.events = 2 * static_cast<std::int64_t>(ops.size()) + messages;
  return played_;
}

PlayedPipeline play(const Order& order, const PipelineSize& size, const PassTimes& times,
                    const Draws* draws) {
  PipelinePlayer player(order, size);
  return player.play(times, draws);
}

}  // namespace nereus::simulate
