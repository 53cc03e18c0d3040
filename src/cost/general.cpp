#include "cost/general.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "base/error.hpp"
#include "cost/data.hpp"
#include "cost/general/ranks.hpp"
#include "cost/general/work.hpp"
#include "cost/stages.hpp"
#include "plan/expand.hpp"

namespace nereus::cost {

using namespace general;
using plan::LayerRun;
using plan::Replicas;

struct GeneralPredictor::Tables {
  Tables(const model::Model& m, const cluster::Cluster& cluster, const Stack& stack)
      : model(m), options(stack.options), wires(cluster, stack), costs(m, wires, options) {}

  const model::Model& model;
  StackOptions options;
  Wires wires;
  LayerCosts costs;
};

namespace {

// Reduction of one physical stage's gradients: runs that are divided alike together, one group of
// ranks after the other. What is gathered for every micro-batch is not reduced again.
double reduce_of(Context& context, const PhysicalStage& stage) {
  struct Bucket {
    const StateGroup* group;
    double parameters = 0;
  };
  std::vector<Bucket> buckets[2];
  const auto put = [&](std::vector<Bucket>& list, const SliceState& slice, double parameters) {
    if (parameters <= 0 || (context.gathers_each() && slice.weights.divided)) return;
    for (Bucket& bucket : list)
      if (*bucket.group == slice.reduce) {
        bucket.parameters += parameters;
        return;
      }
    list.push_back({&slice.reduce, parameters});
  };
  for (const int index : stage.runs) {
    const LayerRun& run = context.run(index);
    const RunState& state = context.states[static_cast<std::size_t>(index)];
    double dense = 0;
    double experts = 0;
    for (int i = 0; i < run.num_layers; ++i) {
      const int kind = context.model.layers[static_cast<std::size_t>(run.first_layer + i)];
      dense += context.costs.dense_parameters(context.placement, kind, run.replicas.front().tp);
      experts += context.costs.expert_parameters(kind, run.ep * run.expert_tp);
    }
    put(buckets[0], state.dense, dense);
    put(buckets[1], state.experts, experts);
  }
  double seconds = 0;
  for (const auto& list : buckets)
    for (const Bucket& bucket : list)
      seconds += reduce_seconds(bucket.group->division, bucket.parameters, context.options);
  return seconds;
}

// Both ends of a tied weight on different stages sum their gradients.
double tied_seconds(Context& context) {
  double seconds = 0;
  const auto run_of = [&](int layer) {
    int run = 0;
    while (layer >= context.run(run).first_layer + context.run(run).num_layers) ++run;
    return run;
  };
  for (const model::TiedWeights& tied : context.model.tied) {
    const int first = run_of(tied.first);
    const Layout& layout = context.layout;
    const auto a = static_cast<std::size_t>(layout.stage_of_run[static_cast<std::size_t>(first)]);
    const auto b = static_cast<std::size_t>(
        layout.stage_of_run[static_cast<std::size_t>(run_of(tied.second))]);
    if (a == b) continue;
    const int low = std::min(layout.stages[a].lowest_rank, layout.stages[b].lowest_rank);
    const int high = std::max(layout.stages[a].highest_rank, layout.stages[b].highest_rank);
    const Wire& pair =
        context.wires[context.wires.of_pair(context.wires.kind_of(low), context.wires.kind_of(high),
                                            low, high, context.wires.same_domain(low, high))];
    const int cut = context.placement.split_vocabulary ? context.run(first).replicas.front().tp : 1;
    seconds += all_reduce_seconds(pair.fabric, pair.group,
                                  tied.parameters / cut * context.options.reduce_bytes);
  }
  return seconds;
}

// What one lane (or, where they do not run through, the first of each stage) hands on.
class Transfers {
 public:
  explicit Transfers(Context& context) : context_(context) {
    const auto num_runs = static_cast<int>(context.placement.runs.size());
    for (int i = 0; i + 1 < num_runs; ++i)
      if (context.run(i).stage != context.run(i + 1).stage) boundaries_.push_back(i);
    for (const int run : boundaries_) {
      const auto [low, high] = ends_of(run);
      bool& crosses = crosses_[kinds_of(run)];
      crosses = crosses || !context.wires.same_domain(low, high);
    }
  }

  TransferLoad of(std::size_t lane, double memory_share) {
    TransferLoad load;
    load.num_ranks = context_.layout.num_ranks;
    load.memory_share = memory_share;
    double sum = 0;
    for (const int run : boundaries_) {
      const Replicas& sender = replicas_of(run, lane);
      const double m = context_.rounds(sender).count();
      const double once = seconds_of(run, lane);
      load.num_micro_batches = std::max(load.num_micro_batches, m);
      load.steady = std::max(load.steady, (m - 1) * context_.layout.pipeline.interleave * once);
      load.tp = std::max({load.tp, sender.tp, replicas_of(run + 1, lane).tp});
      sum += once;
    }
    load.crossings = sum * (context_.layout.pipeline.depth - 1) /
                     std::max(1.0, static_cast<double>(boundaries_.size()));
    return load;
  }

 private:
  const PhysicalStage& stage_of(int run) const {
    return context_.layout.stages[static_cast<std::size_t>(
        context_.layout.stage_of_run[static_cast<std::size_t>(run)])];
  }
  std::pair<int, int> ends_of(int run) const {
    const PhysicalStage& a = stage_of(run);
    const PhysicalStage& b = stage_of(run + 1);
    return {std::min(a.lowest_rank, b.lowest_rank), std::max(a.highest_rank, b.highest_rank)};
  }
  std::pair<int, int> kinds_of(int run) const {
    const int a = context_.wires.kind_of(stage_of(run).lowest_rank);
    const int b = context_.wires.kind_of(stage_of(run + 1).lowest_rank);
    return {std::min(a, b), std::max(a, b)};
  }

  const Replicas& replicas_of(int run, std::size_t lane) const {
    return context_.run(run).replicas[static_cast<std::size_t>(lane_of(run, lane).replicas)];
  }

  double seconds_of(int index, std::size_t lane) {
    const LayerRun& from = context_.run(index);
    const Lane& sender = lane_of(index, lane);
    const Lane& receiver = lane_of(index + 1, lane);
    const Replicas& r = replicas_of(index, lane);
    const Replicas& s = replicas_of(index + 1, lane);
    const int layer = from.first_layer + from.num_layers - 1;
    const double message = context_.costs
                               .of(context_.placement, from, r, sender.team, sender.kinds.front(),
                                   context_.rounds(r).list[0].samples)
                               .of(context_.model.layers[static_cast<std::size_t>(layer)])
                               .cost.message;
    const auto [kind_a, kind_b] = kinds_of(index);
    const int rank_a = rank_at(r, sender.team, 0, 0);
    const int rank_b = rank_at(s, receiver.team, 0, 0);
    const bool same_domain = !crosses_[{kind_a, kind_b}];
    const int pair =
        context_.wires.of_pair(context_.wires.kind_of(rank_a), context_.wires.kind_of(rank_b),
                               rank_a, rank_b, same_domain);
    const int copies = context_.placement.sequence_parallel
                           ? context_.wires.none()
                           : context_.wires.of(plan::RankRange{rank_b, s.tp, s.tensor_stride});
    const double host = std::max(context_.wires.machine_at(rank_a).parameters.host_transfer,
                                 context_.wires.machine_at(rank_b).parameters.host_transfer);
    return transfer_seconds(context_.wires[pair].fabric, same_domain, message,
                            context_.wires[copies], host);
  }

  // Where lanes do not run through, the one with the largest micro-batches stands for a run.
  const Lane& lane_of(int run, std::size_t lane) const {
    for (const Segment& segment : stage_of(run).segments) {
      if (std::find(segment.runs.begin(), segment.runs.end(), run) == segment.runs.end()) continue;
      if (context_.layout.lanes_run_through) return segment.lanes[lane];
      return *std::max_element(
          segment.lanes.begin(), segment.lanes.end(), [&](const Lane& a, const Lane& b) {
            const auto samples = [&](const Lane& l) {
              return context_.run(run).replicas[static_cast<std::size_t>(l.replicas)].micro_batch;
            };
            return samples(a) < samples(b);
          });
    }
    return stage_of(run).segments.front().lanes.front();
  }

  Context& context_;
  std::vector<int> boundaries_;  // runs whose output leaves their stage
  std::map<std::pair<int, int>, bool> crosses_;
};

// What the stack says of a step that several kinds of machine make together: in each respect the
// worst. It must not depend on which of them is the slowest, or a quicker machine could slow a
// step.
Parameters worst_of(const Context& context, std::size_t lane) {
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
    for (double Parameters::*more : {&Parameters::host_step, &Parameters::host_micro_batch,
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

// The part of a step that one lane decides.
Prediction lane_step(const Context& context, const std::vector<std::vector<LaneTime>>& stages,
                     std::size_t lane, Transfers& transfers, double reduce, double memory_share) {
  const PipelineShape& shape = context.layout.pipeline;
  std::vector<StagePace> paces;
  double quickest = std::numeric_limits<double>::infinity();
  double m = 0;
  for (const std::vector<LaneTime>& stage : stages) {
    paces.push_back({stage[lane].one, stage[lane].total(), 1});
    quickest = std::min(quickest, stage[lane].one);
    m = std::max(m, stage[lane].num_micro_batches);
  }
  const PipelineTime pipeline = pipeline_time(paces, shape.interleave);
  const LaneTime& slowest = stages[static_cast<std::size_t>(pipeline.slowest)][lane];
  const Parameters p = worst_of(context, lane);
  Prediction out;
  out.add(Part::kCompute, slowest.all.compute);
  out.add(Part::kRecompute, slowest.all.recompute);
  out.add(Part::kTensorComm, slowest.all.tensor);
  out.add(Part::kContextComm, slowest.all.context);
  out.add(Part::kExpertComm, slowest.all.expert);
  out.add(Part::kDataComm, slowest.all.shard);
  out.add(Part::kOffload, slowest.all.offload);
  out.add(Part::kLaunch, slowest.all.launch);
  out.add(Part::kPipelineComm, slowest.moved);
  if (shape.depth > 1) {
    out.add(Part::kBubble, pipeline.bubble);
    out.add(Part::kPipelineComm, transfers_seconds(transfers.of(lane, memory_share), shape, p));
  }
  out.add(Part::kDataComm, exposed_reduce(reduce, context.sharing, quickest, shape.interleave, p));
  out.add(Part::kFixed, p.host_step + m * p.host_micro_batch);
  if (p.memory_pressure > 0 && memory_share > 0.9)
    out.add(Part::kFixed,
            p.memory_pressure * (std::min(memory_share, 1.1) - 0.9) * slowest.all.total);
  for (const double part : out.parts) out.step += part;
  return out;
}

}  // namespace

GeneralPredictor::GeneralPredictor(const model::Model& model, const cluster::Cluster& cluster,
                                   const Stack& stack)
    : tables_(std::make_unique<Tables>(model, cluster, stack)) {}
GeneralPredictor::~GeneralPredictor() = default;
GeneralPredictor::GeneralPredictor(GeneralPredictor&&) noexcept = default;

Prediction GeneralPredictor::predict(const plan::Placement& placement) {
  Tables& tables = *tables_;
  Context context{placement,
                  tables.model,
                  tables.options,
                  tables.wires,
                  tables.costs,
                  read_layout(placement, tables.wires),
                  read_state(placement, tables.wires)};
  context.sharing = sharing_of(context.states);
  const Layout& layout = context.layout;
  NEREUS_CHECK(layout.pipeline.depth == 1 || has_closed_form(placement.schedule),
               "schedules without a closed form are for the simulator");

  bool fits = false;
  const std::vector<RankLoad> loads = rank_loads(context);
  const Memory memory = worst_memory(context, loads, fits);
  const double memory_share = memory.total / memory.capacity;

  Work work(context);
  std::vector<std::vector<LaneTime>> stages;
  double reduce = 0;
  for (std::size_t i = 0; i < layout.stages.size(); ++i) {
    stages.push_back(work.stage(static_cast<int>(i)));
    reduce = std::max(reduce, reduce_of(context, layout.stages[i]));
  }

  Transfers transfers(context);
  Prediction out;
  for (std::size_t lane = 0; lane < stages.front().size(); ++lane) {
    const Prediction own = lane_step(context, stages, lane, transfers, reduce, memory_share);
    if (lane == 0 || own.step > out.step) out = own;
  }
  out.memory = memory;
  out.fits = fits;

  if (layout.pipeline.depth > 1) out.add(Part::kDataComm, tied_seconds(context));
  double update = 0;
  double copied = 0;
  double peak = 0;
  for (std::size_t rank = 0; rank < loads.size(); ++rank) {
    if (!layout.used[rank]) continue;
    const Machine& machine = tables.wires.machine_at(static_cast<int>(rank));
    update = std::max(update, optimizer_seconds(loads[rank].updates, tables.options, machine));
    copied = std::max(copied, loads[rank].copied_seconds);
    peak += machine.device.peak_of(placement.precision).value;
  }
  out.add(Part::kOptimizer, update);
  out.add(Part::kOffload, std::max(0.0, copied - update));

  out.step = 0;
  for (const double part : out.parts) out.step += part;
  out.model_flops = tables.model.training_flops() * static_cast<double>(placement.global_batch);
  out.mfu = peak > 0 ? out.model_flops / (out.step * peak) : 0;
  return out;
}

Prediction predict(const plan::Placement& placement, const model::Model& model,
                   const cluster::Cluster& cluster, const Stack& stack) {
  return GeneralPredictor(model, cluster, stack).predict(placement);
}

plan::Placement expand_for(const plan::Degrees& degrees, const model::Model& model,
                           const Stack& stack) {
  const std::vector<int> starts =
      stage_starts(model, degrees.pp * degrees.interleave, stack.options.stages);
  const bool none_empty = std::adjacent_find(starts.begin(), starts.end()) == starts.end();
  return none_empty ? plan::expand(degrees, model, starts) : plan::expand(degrees, model);
}

}  // namespace nereus::cost
