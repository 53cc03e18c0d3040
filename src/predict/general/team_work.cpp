#include "predict/general/team_work.hpp"

#include <algorithm>

namespace nereus::cost::general {

using plan::LayerRun;
using plan::Replicas;

namespace {

void add(StageTime& sum, const StageTime& time, double count) {
  sum.compute += count * time.compute;
  sum.recompute += count * time.recompute;
  sum.tensor += count * time.tensor;
  sum.context += count * time.context;
  sum.expert += count * time.expert;
  sum.shard += count * time.shard;
  sum.offload += count * time.offload;
  sum.launch += count * time.launch;
  sum.total += count * time.total;
  sum.passes += count * time.passes;
  sum.backward += count * time.backward;
}

// One micro-batch of `count` that took that long together.
void set_first(LaneTime& lane, const StageTime& time, double count) {
  lane.one = time.total / count;
  lane.passes = time.passes / count;
  lane.backward = time.backward / count;
}

void add(LaneTime& sum, const LaneTime& time) {
  add(sum.all, time.all, 1);
  sum.one += time.one;
  sum.passes += time.passes;
  sum.backward += time.backward;
  sum.moved += time.moved;
  sum.num_micro_batches = std::max(sum.num_micro_batches, time.num_micro_batches);
}

const LaneTime& slowest(const std::vector<LaneTime>& lanes) {
  return *std::max_element(lanes.begin(), lanes.end(), [](const LaneTime& a, const LaneTime& b) {
    return a.total() < b.total();
  });
}

}  // namespace

std::vector<LaneTime> Work::stage(int index) {
  const PhysicalStage& stage = context_.layout.stages[index];
  std::vector<LaneTime> lanes;
  if (plays_layers()) {
    for (const Segment& segment : stage.segments) lanes.push_back(slowest(segment_times(segment)));
    return {on_longest_path(lanes)};
  }
  for (std::size_t i = 0; i < stage.segments.size(); ++i) {
    const Segment& segment = stage.segments[i];
    std::vector<LaneTime> own = segment_times(segment);
    if (!context_.layout.lanes_run_through && own.size() > 1) own = {slowest(own)};
    if (i > 0 && context_.run(stage.segments[i - 1].runs.back()).stage ==
                     context_.run(segment.runs.front()).stage) {
      const double moved = moves_.seconds(stage.segments[i - 1], segment);
      for (LaneTime& lane : own) {
        lane.moved = moved;
        const double each = moved / lane.num_micro_batches;
        lane.one += each;
        lane.passes += each;
        lane.backward += each;
      }
    }
    if (i == 0) {
      lanes = std::move(own);
      continue;
    }
    for (std::size_t l = 0; l < lanes.size(); ++l) add(lanes[l], own[l]);
  }
  return lanes;
}

LayerTime Work::layers_of(int run, const Lane& lane) {
  const Rounds rounds = context_.rounds(replicas_of(context_.run(run), lane));
  Segment alone;
  alone.runs = {run};
  StageWork work;
  for (const LayerClass& layers : classes_of(alone))
    work.add(time_of(layers, lane, lane.kinds.front(), {{{rounds.list[0].samples, 1}}, 1}),
             layers.count);
  return work.sum;
}

std::vector<Work::LayerClass> Work::classes_of(const Segment& segment) const {
  std::vector<LayerClass> classes;
  for (const int index : segment.runs) {
    const LayerRun& run = context_.run(index);
    std::vector<int> bounds = {0, run.num_layers};
    for (const Replicas& r : run.replicas)
      if (r.recompute_layers > 0 && r.recompute_layers < run.num_layers)
        bounds.push_back(r.recompute_layers);
    std::sort(bounds.begin(), bounds.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    for (std::size_t b = 0; b + 1 < bounds.size(); ++b) {
      const std::size_t first = classes.size();
      for (int i = bounds[b]; i < bounds[b + 1]; ++i) {
        const int kind = context_.model.layers[run.first_layer + i];
        const auto same =
            std::find_if(classes.begin() + static_cast<std::ptrdiff_t>(first), classes.end(),
                         [&](const LayerClass& c) { return c.kind == kind; });
        if (same != classes.end())
          ++same->count;
        else
          classes.push_back({index, kind, bounds[b], 1});
      }
    }
  }
  return classes;
}

std::vector<LaneTime> Work::segment_times(const Segment& segment) {
  const std::vector<LayerClass> classes = classes_of(segment);
  std::vector<LaneTime> times;
  if (context_.gathers_each()) {
    times.push_back(together(segment, classes));
    return times;
  }
  for (const Lane& lane : segment.lanes) times.push_back(on_its_own(segment, classes, lane));
  return times;
}

LaneTime Work::on_its_own(const Segment& segment, const std::vector<LayerClass>& classes,
                          const Lane& lane) {
  const Rounds rounds = context_.rounds(replicas_of(context_.run(segment.runs.front()), lane));
  LaneTime out;
  out.num_micro_batches = rounds.count();
  for (int i = 0; i < rounds.size; ++i) {
    const Round& round = rounds.list[i];
    const Active once{&lane, {{{round.samples, 1}}, 1}};
    const StageTime time = slowest_of(segment, classes, {once});
    add(out.all, time, round.count);
    if (i == 0) set_first(out, time, 1);
  }
  return out;
}

LaneTime Work::together(const Segment& segment, const std::vector<LayerClass>& classes) {
  const LayerRun& run = context_.run(segment.runs.front());
  LaneTime out;
  std::vector<double> bounds;  // numbers of micro-batches after which a lane changes or ends
  std::vector<Active> lanes;
  for (const Lane& lane : segment.lanes) {
    lanes.push_back({&lane, context_.rounds(replicas_of(run, lane))});
    const Rounds& rounds = lanes.back().rounds;
    bounds.push_back(rounds.list[0].count);
    bounds.push_back(rounds.count());
    out.num_micro_batches = std::max(out.num_micro_batches, rounds.count());
  }
  if (context_.gather() == plan::Gather::kPerPass) {
    out.all = slowest_of(segment, classes, lanes);
    set_first(out, out.all, out.num_micro_batches);
    return out;
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  double from = 0;
  for (const double to : bounds) {
    std::vector<Active> active;
    for (const Active& lane : lanes) {
      if (from >= lane.rounds.count()) continue;
      const Round& round = lane.rounds.list[from < lane.rounds.list[0].count ? 0 : 1];
      active.push_back({lane.lane, {{{round.samples, 1}}, 1}});
    }
    const StageTime time = slowest_of(segment, classes, active);
    add(out.all, time, to - from);
    if (from == 0) set_first(out, time, 1);
    from = to;
  }
  return out;
}

// Layer by layer the slowest of the lanes; for one lane simply its time, on its slowest machine.
StageTime Work::slowest_of(const Segment& segment, const std::vector<LayerClass>& classes,
                           const std::vector<Active>& active) {
  struct Member {
    const Active* lane;
    int machine;
    StageWork work;
  };
  std::vector<Member> members;
  double copy = 0;
  for (const Active& lane : active) {
    for (const int kind : lane.lane->kinds) members.push_back({&lane, kind, {}});
    copy = std::max(copy, copies(segment, classes, lane));
  }
  const double shard_seconds = shard(segment, *active.front().lane);
  const bool layer_by_layer = active.size() > 1;
  StageWork work;
  for (const LayerClass& layers : classes) {
    LayerTime most;
    for (Member& member : members) {
      const LayerTime time =
          time_of(layers, *member.lane->lane, member.machine, member.lane->rounds);
      member.work.add(time, layers.count);
      if (time.device() > most.device()) most = time;
    }
    if (layer_by_layer) work.add(most, layers.count);
  }
  if (layer_by_layer) {
    const LayerTime* busiest = nullptr;  // host
    for (const Member& member : members)
      if (busiest == nullptr || member.work.sum.host > busiest->host) busiest = &member.work.sum;
    work.sum.host = busiest->host;
    work.sum.host_again = busiest->host_again;
    work.sum.host_weight = busiest->host_weight;
  }
  const StageMode mode{
      context_.placement.data_overlap,
      context_.layout.pipeline.depth > 1 && splits_backward(context_.placement.schedule)};
  StageTime slowest_time;
  int last_machine = -1;
  for (const Member& member : members) {
    if (layer_by_layer && member.machine == last_machine) continue;  // gives the same
    last_machine = member.machine;
    const StageTime time = stage_time(layer_by_layer ? work : member.work, shard_seconds, copy,
                                      mode, context_.wires.machine(member.machine));
    if (time.total > slowest_time.total) slowest_time = time;
  }
  return slowest_time;
}

LayerTime Work::time_of(const LayerClass& layers, const Lane& lane, int machine,
                        const Rounds& rounds) {
  const LayerRun& run = context_.run(layers.run);
  const Replicas& r = replicas_of(run, lane);
  const bool block = context_.model.kinds[layers.kind].role == model::LayerRole::kBlock;
  StageWork sum;
  for (int i = 0; i < rounds.size; ++i) {
    const TeamCosts costs =
        context_.costs.of(context_.placement, run, r, lane.team, machine, rounds.list[i].samples);
    const StageRules rules = stage_rules(
        context_.wires.machine(machine), context_.options, context_.wires[costs.tensor_wire],
        context_.placement.tensor_overlap, context_.pipelined_across_nodes());
    sum.add(layer_time(costs.of(layers.kind), block, recompute_at(r, layers.position), rules),
            rounds.list[i].count);
  }
  return sum.sum;
}

}  // namespace nereus::cost::general
