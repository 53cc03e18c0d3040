#include "cost/pipeline_time.hpp"

#include <algorithm>

namespace nereus::cost {

using plan::Schedule;

namespace {

// How much of the wait for the other stages is filled with weight gradients, in units of W.
double filled_by_weights(Schedule schedule) {
  switch (schedule) {
    case Schedule::kZbH1:
    case Schedule::kZbV:
      return 1;
    case Schedule::kZbH2:
      return 2;
    case Schedule::kDualPipe:
      return 0.5;
    default:
      return 0;
  }
}

// The part of one micro-batch that the other stages wait for.
double waited_for(const StagePace& stage, const PipelineShape& shape) {
  switch (shape.schedule) {
    case Schedule::kZbH1:
    case Schedule::kZbH2:
    case Schedule::kVaruna:
      return stage.passes;
    case Schedule::kZbV:
      return 0.5 * stage.passes;
    case Schedule::kDualPipe:
      return 0.5 * (stage.passes + stage.backward);
    default:
      return stage.one / shape.interleave;
  }
}

}  // namespace

bool splits_backward(Schedule schedule) { return filled_by_weights(schedule) > 0; }

double in_flight(const PipelineShape& shape, int stage, double m) {
  if (shape.depth == 1 && shape.schedule != Schedule::kDualPipe) return 1;
  const double p = shape.depth;
  const double behind = p - stage - 1;
  switch (shape.schedule) {
    case Schedule::kGpipe:
    case Schedule::kLoopedBfs:
      return m;
    case Schedule::kZbH1:
    case Schedule::kZbV:
      return std::min(p, m);
    case Schedule::kZbH2:
      return std::min(2 * p, m);
    case Schedule::kDualPipe:
      return std::min(p + 0.5, m);
    case Schedule::kVaruna:
      return std::min(behind > 0 ? 3 * behind : 1, m);
    default: {
      const double chunks = 2 * behind + (shape.interleave - 1) * p + 1;
      return std::min(shape.interleave > 1 ? chunks / shape.interleave : behind + 1, m);
    }
  }
}

double later_chunks(const PipelineShape& shape, double own, double num_micro_batches) {
  const double v = shape.interleave;
  const bool looped = shape.schedule == Schedule::kLoopedBfs;
  if ((shape.schedule != Schedule::kInterleaved && !looped) || shape.depth <= 1 || v <= 1) return 0;
  const double one = own / (num_micro_batches - 1 / v);  // W = m T
  const double left = looped ? num_micro_batches : std::min<double>(shape.depth, num_micro_batches);
  return left * (v - 1) / v * one;
}

PipelineTime pipeline_time(std::span<const StagePace> stages, const PipelineShape& shape) {
  // If stages are equal except for rounding, the first one decides, independent of the order of
  // summation. With one micro-batch and no virtual stages, all stages decide equally; then the
  // longest one counts.
  constexpr double kRounding = 1e-13;
  constexpr double kForward = 1.0 / 3;  // of a stage's work
  // The part of the wait for other stages that the deciding stage fills with its T - x: weight
  // gradients or, under Varuna, one recompute.
  const bool varuna = shape.schedule == Schedule::kVaruna;
  const bool fills = varuna || splits_backward(shape.schedule);
  const double filled = varuna ? 1 : filled_by_weights(shape.schedule) * (shape.depth - 1);
  const bool phases = shape.schedule == Schedule::kGpipe || shape.schedule == Schedule::kLoopedBfs;
  const auto own_of = [&](const StagePace& stage) {
    const double own = stage.all - waited_for(stage, shape);
    return fills ? own - filled * (stage.one - stage.passes) : own;
  };
  PipelineTime time;
  double most = 0;
  double sum = 0;
  double most_forward = 0;
  double most_back = 0;
  double longest = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StagePace& stage = stages[i];
    sum += waited_for(stage, shape) * stage.count;
    const StagePace& best = stages[time.slowest];
    const double own = own_of(stage) + stage.sends;
    const double rounding = kRounding * stage.all;
    if (i == 0 || own > most + rounding ||
        (own >= most - rounding && stage.one > best.one * (1 + kRounding))) {
      most = own;
      time.slowest = static_cast<int>(i);
    }
    longest = std::max(longest, stage.all + stage.sends);
    if (!phases) continue;
    const double later = stage.all - waited_for(stage, shape);
    most_forward = std::max(most_forward, kForward * later + stage.sends_forward);
    most_back = std::max(most_back, (1 - kForward) * later + stage.sends_back);
  }
  const StagePace* slowest = &stages[time.slowest];
  double total = sum + (phases ? most_forward + most_back : most);
  if (fills && total <= longest) {
    total = longest;
    for (std::size_t i = stages.size(); i-- > 0;)
      if (stages[i].all + stages[i].sends >= longest * (1 - kRounding))
        time.slowest = static_cast<int>(i);
    slowest = &stages[time.slowest];
  }
  time.own = own_of(*slowest);
  time.sends = slowest->sends;
  time.bubble = std::max(0.0, total - slowest->all - slowest->sends);
  return time;
}

double reduction_window(const StagePace& stage, const PipelineShape& shape) {
  if (splits_backward(shape.schedule)) return 0;
  return shape.schedule == Schedule::kVaruna ? stage.backward : stage.one;
}

double transfer_seconds(const Fabric& fabric, bool same_domain, double message, const Wire& copies,
                        double host_seconds) {
  const int share = copies.group.size;
  double once = send_seconds(fabric, same_domain, message / share) + host_seconds;
  if (share > 1) once += all_gather_seconds(copies.fabric, copies.group, message);
  return once;
}

void add_sends(StagePace& stage, const SendCount& count, const TransferLoad& load,
               const PipelineShape& shape, const Parameters& p) {
  const double later = load.num_micro_batches - 1;
  if (shape.schedule == Schedule::kVaruna) {
    stage.sends = later * std::max(0.0, load.once - stage.one);
    return;
  }
  // ZB-V and DualPipe have both ends on the same ranks.
  const bool looped = shape.schedule != Schedule::kZbV && shape.schedule != Schedule::kDualPipe;
  const double share = shape.schedule == Schedule::kDualPipe ? 0.5 : 1;
  const double once = load.once * (1 - p.pipeline_overlap) * share;
  const double times = looped ? load.num_micro_batches : later;
  const bool phases = shape.schedule == Schedule::kGpipe || shape.schedule == Schedule::kLoopedBfs;
  stage.sends_forward = times * once * count.forward;
  stage.sends_back = times * once * count.back - (looped ? once : 0);
  // Nothing follows the last message.
  stage.sends = times * once * count.both - (looped ? once : 0);
  if (!phases) stage.sends_forward = stage.sends_back = 0;
}

double crossing_seconds(const TransferLoad& load) { return 2 * load.crossings; }

double stall_seconds(const TransferLoad& load, const PipelineShape& shape, const Parameters& p) {
  const bool stalls =
      p.transfer_stall > 0 && (load.num_ranks >= p.transfer_stall_devices || load.tp >= 32 ||
                               load.memory_share > p.transfer_stall_memory);
  // A middle stage sends and receives four times for each micro-batch, an end stage twice.
  return stalls ? p.transfer_stall * (shape.depth > 2 ? 4 : 2) *
                      (load.num_micro_batches + 0.3 * shape.depth)
                : 0;
}

}  // namespace nereus::cost
