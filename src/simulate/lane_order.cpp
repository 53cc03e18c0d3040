#include "simulate/lane_order.hpp"

#include <algorithm>

#include "schedule/greedy.hpp"
#include "simulate/network/network_play.hpp"

namespace nereus::simulate {

using plan::Schedule;

namespace {

bool recomputes_apart(const Order& order) {
  for (const auto& rank : order)
    for (const PipelineOp& op : rank)
      if (op.pass == Pass::kRecompute) return true;
  return false;
}

StageTimes stage_times(const cost::PassSeconds& passes, bool apart) {
  StageTimes times;
  times.forward = picoseconds(passes.forward);
  times.recompute = picoseconds(passes.recompute);
  times.input = picoseconds(apart ? passes.input : passes.input + passes.recompute);
  times.weight = picoseconds(passes.weight);
  return times;
}

PassTimes pass_times(const cost::LaneWork& lane, const PipelineSize& size, bool apart,
                     bool blocking, bool holds_ends) {
  const auto num_stages = static_cast<std::size_t>(size.num_stages());
  const auto depth = static_cast<std::size_t>(size.depth);
  PassTimes times;
  times.blocking = blocking;
  for (const cost::PassSeconds& passes : lane.passes)
    times.stages.push_back(stage_times(passes, apart));
  for (const cost::PassSeconds& passes : lane.last)
    times.last.push_back(stage_times(passes, apart));
  if (lane.reduced_each > 0 && lane.num_micro_batches > 1) {
    if (times.last.empty()) times.last = times.stages;
    times.stages.front().weight += picoseconds(lane.reduced_each);
  }
  const double shown = blocking ? 1 - lane.send_overlap : 1;
  if (holds_ends && !lane.send.empty())
    times.ends = picoseconds(shown * *std::max_element(lane.send.begin(), lane.send.end()));
  for (std::vector<StageTimes>* stages : {&times.stages, &times.last}) {
    // Stages that only fill up the number take no time.
    if (!stages->empty()) stages->resize(num_stages);
    for (std::size_t v = 0; v < stages->size(); ++v) {
      const double send = v < lane.send.size() ? lane.send[v] : 0;
      // The gradient of a stage's input is as large as the output of the stage before.
      const double back = v > 0 && v - 1 < lane.send.size() ? lane.send[v - 1] : 0;
      StageTimes& own = (*stages)[v];
      own.send = picoseconds(send * shown);
      own.send_back = picoseconds(back * shown);
      // Later chunks have the first chunk's work to hide behind.
      if (v + 1 < depth) own.send_alone = picoseconds(send);
      if (v < depth) own.send_back_alone = picoseconds(back);
    }
  }
  return times;
}

}  // namespace

SimulatedLaneOrder lane_order(const cost::StepWork& work, const cost::LaneWork& lane,
                              const std::optional<Order>& given) {
  SimulatedLaneOrder out;
  const int stages = work.num_stages();
  out.size = {work.depth, (stages + work.depth - 1) / work.depth, lane.num_micro_batches};
  if (given) {
    out.order = *given;
  } else if (schedule::suits(work.schedule, out.size, work.rank_of_stage)) {
    out.order = make_order(work.schedule, out.size);
  } else {
    out.greedy = true;
    std::vector<int> ranks = work.rank_of_stage;
    ranks.resize(static_cast<std::size_t>(out.size.num_stages()), ranks.back());
    out.order = schedule::greedy_order(ranks, work.depth, lane.num_micro_batches);
  }
  const bool sends_beside = work.schedule == Schedule::kVaruna;
  out.times = pass_times(lane, out.size, recomputes_apart(out.order), !sends_beside,
                         work.schedule != Schedule::kZbV && work.schedule != Schedule::kDualPipe);
  return out;
}

}  // namespace nereus::simulate
