// Communication of a segment besides the collectives of its layers (predict/general/team_work.hpp).
#include "cost/data_parallel.hpp"
#include "predict/general/team_work.hpp"
#include "predict/memory.hpp"

namespace nereus::cost::general {

using plan::LayerRun;
using plan::Replicas;

namespace {

// The part of a share's slices on the rank, in units of one slice.
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
    const RunState& state = context_.states[index];
    const int tp = replicas_of(run, lane).tp;
    if (state.dense.weights.divided)
      bucket_of(buckets[0], state.dense.weights).parameters -= context_.tied_in(index, tp);
    for (int i = 0; i < run.num_layers; ++i) {
      const int kind = context_.model.layers[run.first_layer + i];
      const bool block = context_.model.kinds[kind].role == model::LayerRole::kBlock;
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

// Copies from and to offload tiers: weights for both passes of every gather, activations out and
// back in.
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
    if (kept || !context_.states[index].weights_beyond_device) continue;
    bool holds[4][2] = {};  // by tier: dense weights, experts
    for (const plan::StateShare& share : run.state) {
      if (share.kind != plan::StateKind::kWeights || share.tier == plan::Tier::kDevice ||
          share.peer_copy)
        continue;
      const double held = held_by(share, rank);
      if (held <= 0) continue;
      double parameters = share.experts ? 0 : -context_.tied_in(index, share.cut);
      for (int i = 0; i < run.num_layers; ++i) {
        const int kind = context_.model.layers[run.first_layer + i];
        parameters += share.experts
                          ? context_.costs.expert_parameters(kind, share.cut)
                          : context_.costs.dense_parameters(context_.placement, kind, share.cut);
      }
      seconds += machine.tier(share.tier)
                     .seconds(2 * times * held * parameters * context_.options.weight_bytes, 0);
      holds[static_cast<std::size_t>(share.tier)][share.experts ? 1 : 0] = true;
    }
    for (const plan::Tier tier : {plan::Tier::kExpanded, plan::Tier::kHost, plan::Tier::kNvme})
      if (const auto& own = holds[static_cast<std::size_t>(tier)]; own[0] || own[1])
        seconds += machine.tier(tier).seconds(
            0, 2 * times * context_.layers_with_weights(run, own[0], own[1]));
  }
  for (const LayerClass& layers : classes) {
    const LayerRun& run = context_.run(layers.run);
    const Replicas& r = replicas_of(run, lane);
    if (r.offload_activations <= 0) continue;
    const bool block = context_.model.kinds[layers.kind].role == model::LayerRole::kBlock;
    for (int i = 0; i < active.rounds.size; ++i) {
      const Round& round = active.rounds.list[i];
      const TeamCosts costs = context_.costs.of(context_.placement, run, r, lane.team,
                                                lane.kinds.front(), round.samples);
      const LayerMemory memory =
          layer_memory(costs.of(layers.kind), block, recompute_at(r, layers.position),
                       context_.options, context_.wires.machine(lane.kinds.front()).parameters);
      if (memory.kept <= 0) continue;
      const double transfers = 2 * round.count * layers.count;
      seconds += machine.tier(r.offload_tier)
                     .seconds(transfers * r.offload_activations * memory.kept, transfers);
    }
  }
  return seconds;
}

}  // namespace nereus::cost::general
