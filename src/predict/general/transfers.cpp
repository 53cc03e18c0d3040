#include "predict/general/transfers.hpp"

#include <algorithm>

namespace nereus::cost::general {

using plan::LayerRun;
using plan::Replicas;

Transfers::Transfers(Context& context) : context_(context) {
  const auto num_runs = static_cast<int>(context.placement.runs.size());
  for (int i = 0; i + 1 < num_runs; ++i)
    if (context.run(i).stage != context.run(i + 1).stage) boundaries_.push_back(i);
  for (const int run : boundaries_) {
    const PhysicalStage& a = stage_of(run);
    const PhysicalStage& b = stage_of(run + 1);
    const int low = std::min(a.lowest_rank, b.lowest_rank);
    const int high = std::max(a.highest_rank, b.highest_rank);
    bool& crosses = crosses_[kinds_of(run)];
    crosses = crosses || !context.wires.same_domain(low, high);
  }
}

TransferLoad Transfers::of(std::size_t lane, double memory_share) {
  TransferLoad load;
  load.num_ranks = context_.layout.num_ranks;
  load.memory_share = memory_share;
  double sum = 0;
  for (const int run : boundaries_) {
    const Replicas& sender = replicas_of(run, lane);
    const double m = context_.rounds(sender).count();
    const double once = seconds_of(run, lane);
    load.num_micro_batches = std::max(load.num_micro_batches, m);
    load.once = std::max(load.once, once);
    load.tp = std::max({load.tp, sender.tp, replicas_of(run + 1, lane).tp});
    sum += once;
  }
  load.crossings = sum * (context_.layout.pipeline.depth - 1) /
                   std::max(1.0, static_cast<double>(boundaries_.size()));
  return load;
}

SendCount Transfers::sends_of(int stage) const {
  SendCount sends;
  const PhysicalStage& own = context_.layout.stages[stage];
  if (context_.placement.schedule != plan::Schedule::kZbV) {
    // The ends are blocked like the other ranks: once in each direction per virtual stage.
    int before = -1;
    for (const int run : own.runs) {
      sends.forward += context_.run(run).stage != before ? 1 : 0;
      before = context_.run(run).stage;
    }
    sends.back = sends.forward;
  } else {
    for (const int run : boundaries_) {
      const int from = context_.layout.stage_of_run[run];
      const int to = context_.layout.stage_of_run[static_cast<std::size_t>(run) + 1];
      if (from == to) continue;
      sends.forward += from == stage ? 1 : 0;
      sends.back += to == stage ? 1 : 0;
    }
  }
  sends.both = sends.forward + sends.back;
  return sends;
}

const PhysicalStage& Transfers::stage_of(int run) const {
  return context_.layout.stages[context_.layout.stage_of_run[run]];
}

std::pair<int, int> Transfers::kinds_of(int run) const {
  const int a = context_.wires.kind_of(stage_of(run).lowest_rank);
  const int b = context_.wires.kind_of(stage_of(run + 1).lowest_rank);
  return {std::min(a, b), std::max(a, b)};
}

const Lane& Transfers::lane_of(int run, std::size_t lane) const {
  for (const Segment& segment : stage_of(run).segments) {
    if (std::find(segment.runs.begin(), segment.runs.end(), run) == segment.runs.end()) continue;
    if (context_.layout.lanes_run_through) return segment.lanes[lane];
    return *std::max_element(segment.lanes.begin(), segment.lanes.end(),
                             [&](const Lane& a, const Lane& b) {
                               const auto samples = [&](const Lane& l) {
                                 return context_.run(run).replicas[l.replicas].micro_batch;
                               };
                               return samples(a) < samples(b);
                             });
  }
  return stage_of(run).segments.front().lanes.front();
}

const Replicas& Transfers::replicas_of(int run, std::size_t lane) const {
  return general::replicas_of(context_.run(run), lane_of(run, lane));
}

double Transfers::seconds_of(int index, std::size_t lane) {
  const LayerRun& from = context_.run(index);
  const Lane& sender = lane_of(index, lane);
  const Lane& receiver = lane_of(index + 1, lane);
  const Replicas& r = replicas_of(index, lane);
  const Replicas& s = replicas_of(index + 1, lane);
  const int layer = from.first_layer + from.num_layers - 1;
  const double message = context_.costs
                             .of(context_.placement, from, r, sender.team, sender.kinds.front(),
                                 context_.rounds(r).list[0].samples)
                             .of(context_.model.layers[layer])
                             .cost.message;
  const auto [kind_a, kind_b] = kinds_of(index);
  const int rank_a = rank_at(r, sender.team, 0, 0);
  const int rank_b = rank_at(s, receiver.team, 0, 0);
  const bool same_domain = !crosses_[{kind_a, kind_b}];
  const int pair = context_.wires.of_pair(
      context_.wires.kind_of(rank_a), context_.wires.kind_of(rank_b), rank_a, rank_b, same_domain);
  const int copies = context_.placement.sequence_parallel
                         ? context_.wires.none()
                         : context_.wires.of(plan::RankRange{rank_b, s.tp, s.tensor_stride});
  const double host = std::max(context_.wires.machine_at(rank_a).parameters.host_transfer,
                               context_.wires.machine_at(rank_b).parameters.host_transfer);
  return transfer_seconds(context_.wires[pair].fabric, same_domain, message, context_.wires[copies],
                          host);
}

}  // namespace nereus::cost::general
