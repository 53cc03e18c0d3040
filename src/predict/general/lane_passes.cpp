#include "predict/general/lane_passes.hpp"

#include <algorithm>

#include "predict/played.hpp"
#include "predict/stage_classes.hpp"

namespace nereus::cost::general {

namespace {

// The layers of each virtual stage of a rank.
std::vector<LayerTime> layers_of(const Context& context, Work& work, std::size_t num_stages,
                                 std::size_t stage, std::size_t lane) {
  std::vector<StageWork> sums(num_stages);
  for (const Segment& segment : context.layout.stages[stage].segments) {
    const Lane& stands = segment.lanes[std::min(lane, segment.lanes.size() - 1)];
    for (const int run : segment.runs)
      sums[context.run(run).stage].add(work.layers_of(run, stands), 1);
  }
  std::vector<LayerTime> layers;
  for (const StageWork& sum : sums) layers.push_back(sum.sum);
  return layers;
}

// Whether the last micro-batch is shorter than the others, and the only one.
bool ends_smaller(const LaneTime& time, double m, bool joint) {
  if (joint || time.num_micro_batches < m) return false;
  const double last = time.total() - (m - 1) * time.one;
  return last > 0 && last < time.one * (1 - 1e-9);
}

std::vector<double> sends_of(const Context& context, std::size_t lane, Transfers& transfers,
                             std::size_t num_stages) {
  std::vector<double> send(num_stages);
  const auto num_runs = static_cast<int>(context.placement.runs.size());
  for (int run = 0; run + 1 < num_runs; ++run)
    if (context.run(run).stage != context.run(run + 1).stage)
      send[context.run(run).stage] = transfers.seconds_of(run, lane);
  return send;
}

PassSeconds scaled(const PassSeconds& own, double size) {
  return {size * own.forward, size * own.recompute, size * own.input, size * own.weight};
}

}  // namespace

bool lanes_are_joint(const Context& context) {
  return !context.layout.lanes_run_through || context.gathers_each();
}

double last_seconds(const LaneTime& time, double m, bool joint) {
  return ends_smaller(time, m, joint) ? time.total() - (m - 1) * time.one : time.total() / m;
}

std::vector<int> ranks_of_stages(const Context& context) {
  std::vector<int> ranks(static_cast<std::size_t>(context.placement.runs.back().stage) + 1);
  for (std::size_t i = 0; i < context.layout.stages.size(); ++i)
    for (const int run : context.layout.stages[i].runs)
      ranks[context.run(run).stage] = static_cast<int>(i);
  return ranks;
}

LaneAlone lane_alone(const Context& context, Work& work, std::size_t lane) {
  const PipelineShape& shape = context.layout.pipeline;
  const bool split = shape.depth > 1 && splits_backward(shape.schedule);
  const std::vector<int> ranks = ranks_of_stages(context);
  LaneAlone out;
  out.stages.resize(ranks.size());
  out.layers.resize(ranks.size());
  out.ranks.resize(context.layout.stages.size());
  out.work.resize(context.layout.stages.size());
  std::vector<ChunkWork> own(ranks.size());
  for (std::size_t i = 0; i < context.layout.stages.size(); ++i)
    for (const Segment& segment : context.layout.stages[i].segments)
      for (const int index : segment.runs) {
        const plan::LayerRun& run = context.run(index);
        const Lane& stands = segment.lanes[std::min(lane, segment.lanes.size() - 1)];
        for (int k = 0; k < run.num_layers; ++k) {
          const model::LayerKind& layer = context.model.layer(run.first_layer + k);
          const bool again = recompute_at(replicas_of(run, stands), k) == plan::Recompute::kFull;
          own[run.stage].add(layer, again);
          out.work[i].add(layer, again);
        }
      }
  for (std::size_t i = 0; i < context.layout.stages.size(); ++i) {
    const std::vector<LayerTime> layers = layers_of(context, work, ranks.size(), i, lane);
    StageWork all;
    for (const LayerTime& layer : layers) all.add(layer, 1);
    const std::vector<Lane>& lanes = context.layout.stages[i].segments.front().lanes;
    const Machine& machine =
        context.wires.machine(lanes[std::min(lane, lanes.size() - 1)].kinds.front());
    for (std::size_t v = 0; v < ranks.size(); ++v) {
      if (ranks[v] != static_cast<int>(i)) continue;
      out.layers[v] = layers[v];
      out.stages[v] = passes_alone(layers[v], own[v], out.work[i], all.sum, split, machine);
      add(out.ranks[i], out.stages[v]);
    }
  }
  return out;
}

LanePasses lane_passes(Context& context, Work& work,
                       const std::vector<std::vector<LaneTime>>& stages, std::size_t lane,
                       Transfers& transfers) {
  const bool joint = lanes_are_joint(context);
  const PipelineShape& shape = context.layout.pipeline;
  const bool split = shape.depth > 1 && splits_backward(shape.schedule);
  const std::vector<int> ranks = ranks_of_stages(context);
  const LaneAlone alone = lane_alone(context, work, lane);
  double m = 1;
  bool smaller = false;
  for (const std::vector<LaneTime>& stage : stages) m = std::max(m, stage[lane].num_micro_batches);
  for (const std::vector<LaneTime>& stage : stages) smaller |= ends_smaller(stage[lane], m, joint);
  LanePasses out;
  out.num_micro_batches = static_cast<int>(m);
  out.each.resize(ranks.size());
  out.communication.resize(ranks.size());
  if (smaller) out.last.resize(ranks.size());
  for (std::size_t v = 0; v < ranks.size(); ++v) {
    const auto i = static_cast<std::size_t>(ranks[v]);
    const LaneTime& time = stages[i][lane];
    if (time.one <= 0) continue;
    const double last = last_seconds(time, m, joint) / time.one;
    const double each = ends_smaller(time, m, joint) ? 1 : last;
    const PassSeconds own =
        pass_seconds(alone.layers[v], alone.stages[v], alone.ranks[i], time.one, split);
    out.each[v] = scaled(own, each);
    if (smaller) out.last[v] = scaled(own, last);
    out.communication[v] =
        (time.all.tensor + time.all.context + time.all.expert + time.all.shard + time.moved) /
        time.total();
  }
  out.send = sends_of(context, lane, transfers, ranks.size());
  return out;
}

namespace {

// Whether the lane's passes are simulated; sets `copies` if it also copies state or activations.
bool can_play(const Context& context, std::size_t lane, schedule::PipelineSize& size,
              bool& copies) {
  if (lanes_are_joint(context)) return false;
  double m = 0;
  for (const PhysicalStage& stage : context.layout.stages)
    for (const Segment& segment : stage.segments) {
      const Lane& own = segment.lanes[lane];
      for (const int run : segment.runs) {
        const plan::Replicas& r = replicas_of(context.run(run), own);
        const Rounds rounds = context.rounds(r);
        if (m == 0) m = rounds.count();
        if (own.kinds.size() > 1 || rounds.size > 1 || rounds.count() != m) return false;
        copies |= r.offload_activations > 0 || context.states[run].weights_beyond_device;
      }
    }
  const PipelineShape& shape = context.layout.pipeline;
  const std::vector<int> ranks = ranks_of_stages(context);
  size = {shape.depth, static_cast<int>(ranks.size()) / shape.depth, static_cast<int>(m)};
  return cost::can_play(shape.schedule, size) && schedule::suits(shape.schedule, size, ranks);
}

bool are_alike(const LaneAlone& alone, const std::vector<double>& send,
               const std::vector<double>& reductions) {
  for (std::size_t v = 1; v < alone.stages.size(); ++v)
    if (!take_the_same(alone.stages[v], alone.stages[0]) ||
        (v + 1 < send.size() && !take_the_same(send[v], send[0])))
      return false;
  return std::all_of(reductions.begin(), reductions.end(),
                     [&](double own) { return take_the_same(own, reductions[0]); });
}

}  // namespace

double near_play(const ClosedForm& formula, Context& context, Work& work, std::size_t lane,
                 Transfers& transfers, const Reductions& reductions, const Parameters& p) {
  schedule::PipelineSize size;
  bool copies = false;
  if (!can_play(context, lane, size, copies)) return formula.seconds;
  const plan::Schedule schedule = context.layout.pipeline.schedule;
  const bool split = splits_backward(schedule);
  const LaneAlone alone = lane_alone(context, work, lane);
  const std::vector<double> send = sends_of(context, lane, transfers, alone.stages.size());
  const double longest_send = *std::max_element(send.begin(), send.end());
  const bool alike = !split && are_alike(alone, send, reductions.seconds);
  const double ends = end_seconds(schedule, longest_send, p.pipeline_overlap);
  std::vector<schedule::StageSeconds> stages(alone.stages.size());
  for (std::size_t v = 0; v < stages.size(); ++v)
    stages[v] = stage_seconds(alone.stages[v], send[v], v > 0 ? send[v - 1] : 0, p.pipeline_overlap,
                              static_cast<int>(v), size.depth);
  schedule::PipelineClose close;
  context.clock.play(schedule, size, {stages, ends}, split, close);
  const double beside =
      context.placement.data_overlap && !split ? reduction_overlap(context.reduced_as(), p) : 0;
  const auto of_rank = [&](int rank) { return reductions.seconds[rank]; };
  const PlayedEnds play{close.end, close.last_back, close.busy_after, reductions.share};
  return cost::near_play(formula, reduced_end(play, size, of_rank, beside), kNear, copies, alike);
}

}  // namespace nereus::cost::general
