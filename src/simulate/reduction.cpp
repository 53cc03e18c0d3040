#include "simulate/reduction.hpp"

#include <algorithm>
#include <cmath>

#include "cost/data_parallel.hpp"
#include "simulate/network/network_play.hpp"

namespace nereus::simulate {

namespace {

// When `wire` picoseconds of a reduction that starts at `start` are done, overlapped with the
// rank's passes.
Picoseconds done_beside(const std::vector<PlayedOp>& ops, Picoseconds start, double wire,
                        double overlap) {
  auto next = std::upper_bound(ops.begin(), ops.end(), start,
                               [](Picoseconds at, const PlayedOp& op) { return at < op.end; });
  double at = static_cast<double>(start);
  for (; next != ops.end(); ++next) {
    const double alone = std::max(0.0, static_cast<double>(next->start) - at);
    if (alone >= wire) break;
    wire -= alone;
    at = std::max(at, static_cast<double>(next->start));
    const double beside = (static_cast<double>(next->end) - at) * overlap;
    if (beside >= wire) return std::llround(at + wire / overlap);
    wire -= beside;
    at = static_cast<double>(next->end);
  }
  return std::llround(at + wire);
}

}  // namespace

std::vector<Reduced> reduce(const std::vector<PipelineOp>& order, const PlayedRank& played,
                            const cost::StepWork& work) {
  std::vector<Reduced> stages;
  for (std::size_t i = order.size(); i-- > 0;) {
    const PipelineOp& op = order[i];
    const double seconds = work.reduce[op.stage];
    if (op.pass == Pass::kForward || op.pass == Pass::kRecompute || seconds <= 0) continue;
    if (std::any_of(stages.begin(), stages.end(),
                    [&](const Reduced& done) { return done.stage == op.stage; }))
      continue;
    stages.push_back({op.stage, played.ops[i].start, 0, picoseconds(seconds)});
  }
  if (stages.empty()) return stages;
  std::reverse(stages.begin(), stages.end());
  const bool after = work.reduces_last || work.reduce_overlap <= 0;
  Picoseconds free = 0;
  double wire = 0;
  for (Reduced& stage : stages) {
    stage.start = std::max(after ? played.end() : stage.start, free);
    stage.end =
        done_beside(played.ops, stage.start, static_cast<double>(stage.wire), work.reduce_overlap);
    free = stage.end;
    wire += static_cast<double>(stage.wire);
  }
  stages.back().end = std::max(stages.back().end,
                               played.end() + static_cast<Picoseconds>(cost::kLastBucket * wire));
  return stages;
}

}  // namespace nereus::simulate
