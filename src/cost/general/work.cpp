#include "cost/general/work.hpp"

#include <algorithm>

#include "cost/data.hpp"
#include "cost/memory.hpp"

namespace nereus::cost::general {

using plan::LayerRun;
using plan::Recompute;
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
}

void add(LaneTime& sum, const LaneTime& time) {
  add(sum.all, time.all, 1);
  sum.one += time.one;
  sum.moved += time.moved;
  sum.num_micro_batches = std::max(sum.num_micro_batches, time.num_micro_batches);
}

const LaneTime& slowest(const std::vector<LaneTime>& lanes) {
  return *std::max_element(lanes.begin(), lanes.end(), [](const LaneTime& a, const LaneTime& b) {
    return a.total() < b.total();
  });
}

const Replicas& replicas_of(const LayerRun& run, const Lane& lane) {
  return run.replicas[static_cast<std::size_t>(lane.replicas)];
}

Recompute recompute_at(const Replicas& r, int position) {
  return r.recompute_layers < 0 || position < r.recompute_layers ? r.recompute : Recompute::kNone;
}

// What part of a share's slices, in units of one slice, lies on the rank.
double held_by(const plan::StateShare& share, int rank) {
  double pieces = 0;
  for (const plan::RankRange& range : share.ranks)
    for (int s = 0; s < share.num_slices; ++s) {
      const int offset = rank - s * share.slice_stride - range.first;
      if (offset >= 0 && offset % range.stride == 0 && offset / range.stride < range.count)
        ++pieces;
    }
  return pieces * static_cast<double>(share.end - share.begin) /
         static_cast<double>(plan::kStateUnits) / share.pieces;
}

}  // namespace

std::vector<LaneTime> Work::stage(int index) {
  const PhysicalStage& stage = context_.layout.stages[static_cast<std::size_t>(index)];
  std::vector<LaneTime> lanes;
  for (std::size_t i = 0; i < stage.segments.size(); ++i) {
    const Segment& segment = stage.segments[i];
    std::vector<LaneTime> own = segment_times(segment);
    if (!context_.layout.lanes_run_through && own.size() > 1) own = {slowest(own)};
    if (i > 0 && context_.run(stage.segments[i - 1].runs.back()).stage ==
                     context_.run(segment.runs.front()).stage) {
      const double moved = moves_.seconds(stage.segments[i - 1], segment);
      for (LaneTime& lane : own) {
        lane.moved = moved;
        lane.one += moved / lane.num_micro_batches;
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
        const int kind = context_.model.layers[static_cast<std::size_t>(run.first_layer + i)];
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
    if (i == 0) out.one = time.total;
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
    out.one = out.all.total / out.num_micro_batches;
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
    if (from == 0) out.one = time.total;
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
    work.sum.host = 0;
    for (const Member& member : members)
      work.sum.host = std::max(work.sum.host, member.work.sum.host);
  }
  StageTime slowest_time;
  int last_machine = -1;
  for (const Member& member : members) {
    if (layer_by_layer && member.machine == last_machine) continue;  // gives the same
    last_machine = member.machine;
    const StageTime time = stage_time(layer_by_layer ? work : member.work, shard_seconds, copy,
                                      context_.wires.machine(member.machine));
    if (time.total > slowest_time.total) slowest_time = time;
  }
  return slowest_time;
}

LayerTime Work::time_of(const LayerClass& layers, const Lane& lane, int machine,
                        const Rounds& rounds) {
  const LayerRun& run = context_.run(layers.run);
  const Replicas& r = replicas_of(run, lane);
  const bool block =
      context_.model.kinds[static_cast<std::size_t>(layers.kind)].role == model::LayerRole::kBlock;
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

// Gathering and scattering once through the segment's layers; runs that are divided alike together.
double Work::shard(const Segment& segment, const Lane& lane) {
  if (!context_.gathers_each()) return 0;
  struct Bucket {
    const StateGroup* group;
    double parameters = 0;
    double layers = 0;
  };
  std::vector<Bucket> buckets[2];  // of dense weights, of experts
  const auto bucket_of = [](std::vector<Bucket>& list, const StateGroup& group) -> Bucket& {
    for (Bucket& bucket : list)
      if (*bucket.group == group) return bucket;
    return list.emplace_back(Bucket{&group});
  };
  for (const int index : segment.runs) {
    const LayerRun& run = context_.run(index);
    const RunState& state = context_.states[static_cast<std::size_t>(index)];
    const int tp = replicas_of(run, lane).tp;
    for (int i = 0; i < run.num_layers; ++i) {
      const int kind = context_.model.layers[static_cast<std::size_t>(run.first_layer + i)];
      const bool block =
          context_.model.kinds[static_cast<std::size_t>(kind)].role == model::LayerRole::kBlock;
      if (state.dense.weights.divided) {
        Bucket& dense = bucket_of(buckets[0], state.dense.weights);
        dense.parameters += context_.costs.dense_parameters(context_.placement, kind, tp);
        dense.layers += block ? 1 : 0;
      }
      const double experts = context_.costs.expert_parameters(kind, run.ep * run.expert_tp);
      if (state.experts.weights.divided && experts > 0) {
        Bucket& bucket = bucket_of(buckets[1], state.experts.weights);
        bucket.parameters += experts;
        ++bucket.layers;
      }
    }
  }
  double seconds = 0;
  for (const Bucket& dense : buckets[0])
    seconds +=
        shard_seconds(dense.group->division, dense.parameters, dense.layers + 1, context_.options);
  for (const Bucket& experts : buckets[1])
    seconds += shard_seconds(experts.group->division, experts.parameters, experts.layers,
                             context_.options);
  return seconds;
}

// Copies from and to memory beyond the device: weights for both passes of every gathering,
// activations out and in again.
double Work::copies(const Segment& segment, const std::vector<LayerClass>& classes,
                    const Active& active) {
  const Lane& lane = *active.lane;
  const Replicas& first = replicas_of(context_.run(segment.runs.front()), lane);
  const int rank = rank_at(first, lane.team, 0, 0);
  const Machine& machine = context_.wires.machine_at(rank);
  const bool kept = context_.sharing == Sharing::kWeights && context_.keeps_whole();
  const bool per_pass = context_.gathers_each() && context_.gather() == plan::Gather::kPerPass;
  const double times = per_pass ? 1 : active.rounds.count();
  double seconds = 0;
  for (const int index : segment.runs) {
    const LayerRun& run = context_.run(index);
    if (kept || !context_.states[static_cast<std::size_t>(index)].weights_beyond_device) continue;
    for (const plan::StateShare& share : run.state) {
      if (share.kind != plan::StateKind::kWeights || share.tier == plan::Tier::kDevice ||
          share.peer_copy)
        continue;
      const double held = held_by(share, rank);
      if (held <= 0) continue;
      double parameters = 0;
      for (int i = 0; i < run.num_layers; ++i) {
        const int kind = context_.model.layers[static_cast<std::size_t>(run.first_layer + i)];
        parameters += share.experts
                          ? context_.costs.expert_parameters(kind, share.cut)
                          : context_.costs.dense_parameters(context_.placement, kind, share.cut);
      }
      seconds += 2 * times * held * parameters * context_.options.weight_bytes /
                 machine.tier(share.tier).rate;
    }
  }
  const double host = machine.tier(plan::Tier::kHost).rate;
  for (const LayerClass& layers : classes) {
    const LayerRun& run = context_.run(layers.run);
    const Replicas& r = replicas_of(run, lane);
    if (r.offload_activations <= 0 || host <= 0) continue;
    const bool block = context_.model.kinds[static_cast<std::size_t>(layers.kind)].role ==
                       model::LayerRole::kBlock;
    for (int i = 0; i < active.rounds.size; ++i) {
      const Round& round = active.rounds.list[i];
      const TeamCosts costs = context_.costs.of(context_.placement, run, r, lane.team,
                                                lane.kinds.front(), round.samples);
      const LayerMemory memory =
          layer_memory(costs.of(layers.kind), block, recompute_at(r, layers.position),
                       context_.options, context_.wires.machine(lane.kinds.front()).parameters);
      seconds += 2 * r.offload_activations * round.count * layers.count * memory.kept / host;
    }
  }
  return seconds;
}

}  // namespace nereus::cost::general
