#include "predict/general/lane_step.hpp"

#include <algorithm>
#include <limits>

#include "cost/data_parallel.hpp"
#include "predict/general/lane_passes.hpp"
#include "predict/played.hpp"

namespace nereus::cost::general {

Parameters lane_parameters(const Context& context, std::size_t lane) {
  std::vector<int> kinds;
  const auto take = [&](const Lane& own) {
    for (const int kind : own.kinds)
      if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  };
  const bool alone = context.layout.lanes_run_through && !context.gathers_each();
  for (const PhysicalStage& stage : context.layout.stages)
    for (const Segment& segment : stage.segments) {
      if (alone)
        take(segment.lanes[lane]);
      else
        for (const Lane& own : segment.lanes) take(own);
    }
  Parameters worst = context.wires.machine(kinds.front()).parameters;
  for (const int kind : kinds) {
    const Parameters& p = context.wires.machine(kind).parameters;
    for (double Parameters::*more :
         {&Parameters::host_step, &Parameters::straggler, &Parameters::host_micro_batch,
          &Parameters::memory_pressure, &Parameters::transfer_stall})
      worst.*more = std::max(worst.*more, p.*more);
    for (double Parameters::*less :
         {&Parameters::data_overlap, &Parameters::zero_overlap, &Parameters::shard_overlap,
          &Parameters::pipeline_overlap, &Parameters::transfer_stall_devices,
          &Parameters::transfer_stall_memory})
      worst.*less = std::min(worst.*less, p.*less);
  }
  return worst;
}

LaneStep lane_step(Context& context, Work& work, const std::vector<std::vector<LaneTime>>& stages,
                   std::size_t lane, Transfers& transfers, const Reductions& reductions,
                   double memory_share) {
  const PipelineShape& shape = context.layout.pipeline;
  std::vector<StagePace> paces;
  double quickest = std::numeric_limits<double>::infinity();
  double m = 0;
  LaneStep answer;
  Prediction& out = answer.prediction;
  for (const std::vector<LaneTime>& stage : stages) m = std::max(m, stage[lane].num_micro_batches);
  for (const std::vector<LaneTime>& stage : stages) {
    out.busy += (stage[lane].all.compute + stage[lane].all.recompute) / shape.depth;
    const LaneTime& own = stage[lane];
    paces.push_back({own.one, own.total(), 1, own.passes, own.backward});
    // The reduction overlaps with the last micro-batch.
    StagePace last = paces.back();
    last.one = last_seconds(own, m, lanes_are_joint(context));
    quickest = std::min(quickest, reduction_window(last, shape));
  }
  const Parameters p = lane_parameters(context, lane);
  TransferLoad load;
  if (shape.depth > 1) {
    load = transfers.of(lane, memory_share);
    for (std::size_t i = 0; i < paces.size(); ++i)
      add_sends(paces[i], transfers.sends_of(static_cast<int>(i)), load, shape, p);
  }
  const PipelineTime pipeline = pipeline_time(paces, shape);
  const LaneTime& slowest = stages[pipeline.slowest][lane];
  out.add(Part::kFixed, p.host_step + m * p.host_micro_batch);
  add_stage(out, slowest.all, 1, memory_share, p);
  out.add(Part::kPipelineComm, slowest.moved);
  const double all = paces[pipeline.slowest].all;
  out.add(Part::kFixed, straggler_seconds(all, context.layout.num_ranks, p));
  const double later = later_chunks(shape, pipeline.own, m);
  const Sharing sharing = context.reduced_as();
  const bool overlaps = context.placement.data_overlap;
  ReductionWindow window{kBackward * quickest, kBackward * later};
  if (shape.depth == 1) {
    const LaneTime& own = stages.front()[lane];
    const double forward = own.on_path * lane_alone(context, work, lane).ranks.front().forward;
    window = one_stage_window(quickest, forward * (own.one > 0 ? quickest / own.one : 1));
    answer.reduced_each = exposed_reduce(reductions.each, Sharing::kWeights,
                                         one_stage_window(own.one, forward), 1, overlaps, p);
  }
  const double exposed =
      exposed_reduce(reductions.longest(), sharing, window, shape.interleave, overlaps, p) +
      std::max(0.0, m - 1) * answer.reduced_each;
  double whole = all + exposed;
  double sent = 0;
  if (shape.depth > 1) {
    sent = pipeline.sends + crossing_seconds(load);
    const double after = all + reductions.longest() + pipeline.bubble + sent;
    whole = near_play({whole + pipeline.bubble + sent, after}, context, work, lane, transfers,
                      reductions, p);
    answer.closing = stall_seconds(load, shape, p);
    out.add(Part::kPipelineComm, answer.closing);
  }
  add_waits(out, whole - all, exposed, sent);
  for (const double part : out.parts) out.step += part;
  answer.closing += out.part(Part::kFixed);
  return answer;
}

}  // namespace nereus::cost::general
