#include "cost/pipeline.hpp"

#include <algorithm>

namespace nereus::cost {

using plan::Schedule;

bool has_closed_form(Schedule schedule) {
  return schedule == Schedule::kGpipe || schedule == Schedule::k1f1b ||
         schedule == Schedule::kInterleaved;
}

double in_flight(const PipelineShape& shape, int stage, double m) {
  if (shape.depth == 1) return 1;
  if (shape.schedule == Schedule::kGpipe) return m;
  const double behind = shape.depth - stage - 1;
  const double chunks = 2 * behind + (shape.interleave - 1) * shape.depth + 1;
  return std::min(shape.interleave > 1 ? chunks / shape.interleave : behind + 1, m);
}

PipelineTime pipeline_time(std::span<const StagePace> stages, double interleave) {
  // Stages that tie but for rounding: the first stands for them, whichever way their times were
  // added up. With one micro-batch and no virtual stages all decide alike; then the longest does.
  constexpr double kRounding = 1e-13;
  PipelineTime time;
  double most = 0;
  double fill = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StagePace& stage = stages[i];
    fill += stage.one * stage.count;
    const StagePace& best = stages[static_cast<std::size_t>(time.slowest)];
    const double own = stage.all - stage.one / interleave;
    const double rounding = kRounding * stage.all;
    if (i == 0 || own > most + rounding ||
        (own >= most - rounding && stage.one > best.one * (1 + kRounding))) {
      most = own;
      time.slowest = static_cast<int>(i);
    }
  }
  time.bubble = (fill - stages[static_cast<std::size_t>(time.slowest)].one) / interleave;
  return time;
}

double transfer_seconds(const Fabric& fabric, bool same_domain, double message, const Wire& copies,
                        double host_seconds) {
  const int share = copies.group.size;
  double once = send_seconds(fabric, same_domain, message / share) + host_seconds;
  if (share > 1) once += all_gather_seconds(copies.fabric, copies.group, message);
  return once;
}

double transfers_seconds(const TransferLoad& load, const PipelineShape& shape,
                         const Parameters& p) {
  const double m = load.num_micro_batches;
  double total = 2 * load.steady * (1 - p.pipeline_overlap) + 2 * load.crossings;
  const bool stalls =
      p.transfer_stall > 0 && (load.num_ranks >= p.transfer_stall_devices || load.tp >= 32 ||
                               load.memory_share > p.transfer_stall_memory);
  // A middle stage sends and receives four times for each micro-batch, an end stage twice.
  if (stalls) total += p.transfer_stall * (shape.depth > 2 ? 4 : 2) * (m + 0.3 * shape.depth);
  return total;
}

}  // namespace nereus::cost
