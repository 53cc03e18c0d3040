#include "simulate/step.hpp"

#include <fmt/format.h>

#include <cmath>

namespace nereus::simulate {

namespace {

constexpr double kPicoseconds = 1e12;

Picoseconds picoseconds(double seconds) {
  return static_cast<Picoseconds>(std::llround(seconds * kPicoseconds));
}

timeline::SliceKind kind_of(Pass pass) {
  switch (pass) {
    case Pass::kForward:
      return timeline::SliceKind::kForward;
    case Pass::kBackward:
      return timeline::SliceKind::kBackward;
    case Pass::kInput:
      return timeline::SliceKind::kInput;
    case Pass::kWeight:
      return timeline::SliceKind::kWeight;
    case Pass::kRecompute:
      return timeline::SliceKind::kOther;
  }
  return timeline::SliceKind::kOther;
}

}  // namespace

SimulatedStep simulate_step(const model::Model& model, const cluster::Cluster& cluster,
                            const cost::Stack& stack, const plan::Degrees& degrees) {
  const cost::Predictor::StepDetail detail =
      cost::Predictor(model, cluster, stack, 1).detail(degrees);
  SimulatedStep out;
  out.predicted = detail.prediction;
  out.rest = detail.rest;
  out.size = {degrees.pp, degrees.interleave, detail.num_micro_batches};
  const cost::Parameters parameters = stack.parameters_for(cluster.groups.front().node.device);
  PassTimes times;
  for (const cost::Predictor::StageDetail& stage : detail.stages) {
    const Picoseconds send = picoseconds(stage.send * (1 - parameters.pipeline_overlap));
    times.stages.push_back({picoseconds(stage.forward), picoseconds(stage.input),
                            picoseconds(stage.weight), send, send});
  }
  // The gradient of a stage's input is as large as the output of the stage before.
  for (std::size_t s = times.stages.size(); s-- > 1;)
    times.stages[s].send_back = times.stages[s - 1].send;
  const plan::Schedule schedule = degrees.pp > 1 ? degrees.schedule : plan::Schedule::k1f1b;
  out.order = make_order(schedule, out.size);
  out.played = play(out.order, out.size, times);
  out.step = static_cast<double>(out.played.end) / kPicoseconds + out.rest;
  for (const std::vector<PipelineOp>& rank : out.order)
    out.events += 3 * static_cast<std::int64_t>(rank.size());
  out.events_represented = out.events * degrees.tp * degrees.cp * degrees.dp;
  return out;
}

timeline::Timeline to_timeline(const SimulatedStep& step) {
  timeline::Timeline out;
  for (std::size_t rank = 0; rank < step.order.size(); ++rank) {
    const int lane = static_cast<int>(rank);
    out.lanes.push_back({lane, fmt::format("stage {}", rank), "compute"});
    for (std::size_t i = 0; i < step.order[rank].size(); ++i) {
      const PipelineOp& op = step.order[rank][i];
      const PlayedOp& played = step.played.ranks[rank].ops[i];
      out.slices.push_back(
          {lane, played.start, played.end, kind_of(op.pass), op.stage, op.micro_batch});
    }
  }
  return out;
}

}  // namespace nereus::simulate
