#include "chakra/step_layers.hpp"

#include <algorithm>
#include <cmath>

#include "plan/stages.hpp"
#include "predict/plan_shape.hpp"
#include "predict/predictor_tables.hpp"
#include "predict/stage_sums.hpp"

namespace nereus::chakra {

namespace {

using model::OpKind;
using plan::Recompute;

std::int64_t whole(double bytes) { return std::llround(bytes); }

// FLOP that model::Model::training_flops counts, of one sample forward.
double counted_flops(const model::LayerKind& kind, bool attention_alone) {
  double flops = 0;
  for (const model::Operator& op : kind.operators) {
    const bool counted = op.kind == OpKind::kGemm || op.kind == OpKind::kAttention ||
                         op.kind == OpKind::kConvolution || op.kind == OpKind::kInteraction ||
                         op.kind == OpKind::kScan;
    if (counted && (!attention_alone || op.kind == OpKind::kAttention)) flops += op.flops;
  }
  return flops;
}

class Maker {
 public:
  Maker(const model::Model& model, const cluster::Cluster& cluster, const cost::Basis& basis,
        const plan::Degrees& degrees)
      : model_(model),
        degrees_(degrees),
        tables_(model, cluster, basis, 1),
        step_(cost::Predictor(model, cluster, basis, 1).work(degrees)),
        shape_(cost::plan_shape(tables_, degrees)) {}

  StepWork run() {
    const plan::Degrees& d = degrees_;
    StepWork work;
    work.degrees = d;
    work.size = {d.pp, d.interleave, step_.lanes.front().num_micro_batches};
    work.order = simulate::make_order(d.pp > 1 ? d.schedule : plan::Schedule::k1f1b, work.size);
    work.pieces = shape_.dense.pieces;
    work.expert_pieces = shape_.has_experts ? shape_.experts.pieces : 1;
    work.gathers_messages = !d.sequence_parallel && d.tp > 1;
    work.flops = step_.prediction.model_flops;
    const int num_stages = d.pp * d.interleave;
    starts_ = cost::stage_starts(model_, num_stages, tables_.options().stages);
    for (int v = 0; v < num_stages; ++v)
      work.stages.push_back(stage(v, starts_[v], starts_[static_cast<std::size_t>(v) + 1]));
    tied(work);
    optimizer(work);
    return work;
  }

 private:
  void add(Collectives& list, CommType type, GroupKind group, double bytes, int times = 1) const {
    if (whole(bytes) <= 0) return;
    for (int i = 0; i < times; ++i) list.push_back({type, group, whole(bytes)});
  }

  void tensor(LayerWork& out, const cost::LayerCost& cost) const {
    const int regions = cost.num_tensor_regions;
    if (degrees_.tp <= 1 || regions == 0) return;
    const double bytes = cost.tensor_bytes / regions;
    if (!degrees_.sequence_parallel) {
      add(out.after_forward, CommType::kAllReduce, GroupKind::kTensor, bytes, regions);
      add(out.after_backward, CommType::kAllReduce, GroupKind::kTensor, bytes, regions);
      return;
    }
    const double own = bytes / degrees_.tp;
    add(out.before_forward, CommType::kAllGather, GroupKind::kTensor, own, regions);
    add(out.after_forward, CommType::kReduceScatter, GroupKind::kTensor, bytes, regions);
    add(out.before_backward, CommType::kAllGather, GroupKind::kTensor, own, regions);
    add(out.after_backward, CommType::kReduceScatter, GroupKind::kTensor, bytes, regions);
    add(out.before_weight, CommType::kAllGather, GroupKind::kTensor, own, regions);
  }

  void context(LayerWork& out, const cost::KindCost& kind) const {
    if (degrees_.cp <= 1) return;
    add(out.before_forward, CommType::kAllToAll, GroupKind::kContext, kind.exchange_bytes);
    add(out.before_backward, CommType::kAllToAll, GroupKind::kContext, kind.exchange_bytes);
    // Keys and values go round forward; backward they go round again and their gradients come back.
    add(out.beside_forward, CommType::kAllGather, GroupKind::kContext, kind.ring_bytes);
    add(out.beside_backward, CommType::kAllGather, GroupKind::kContext, kind.ring_bytes);
    add(out.beside_backward, CommType::kReduceScatter, GroupKind::kContext,
        kind.ring_bytes * degrees_.cp);
  }

  void experts(LayerWork& out, const cost::LayerCost& cost) const {
    const auto travel = [&](Collectives& list) {
      if (degrees_.ep > 1) add(list, CommType::kAllToAll, GroupKind::kExperts, cost.expert_bytes);
    };
    const bool cut = degrees_.expert_tp > 1;
    const double parts = cost.expert_bytes * degrees_.expert_tp;
    for (Collectives* list : {&out.before_forward, &out.before_backward}) {
      travel(*list);
      if (cut) add(*list, CommType::kAllGather, GroupKind::kExpertParts, cost.expert_bytes);
    }
    for (Collectives* list : {&out.after_forward, &out.after_backward}) {
      if (cut) add(*list, CommType::kReduceScatter, GroupKind::kExpertParts, parts);
      travel(*list);
    }
  }

  // Indices go to the tables, vectors back, gradients the same way (cost/embedding.hpp); at the end
  // of the step, gradients are exchanged among replicas.
  void tables(LayerWork& out, const model::LayerKind& shape) const {
    if (shape.table_parameters() <= 0) return;
    const cost::TableSlices& slices = tables_.table_slices(degrees_);
    const cost::TableTraffic traffic = cost::table_traffic(
        slices, tables_.samples_per_micro_batch(degrees_), cost::element_bytes(degrees_.precision));
    const auto go = GroupKind::kExperts;
    const double ep = degrees_.ep;
    if (slices.split == plan::TableSplit::kColumn && slices.rows == 1)
      add(out.before_forward, CommType::kAllGather, go, traffic.index_bytes / ep);
    else
      add(out.before_forward, CommType::kAllToAll, go, traffic.index_bytes);
    if (slices.split == plan::TableSplit::kRow) {
      add(out.after_forward, CommType::kReduceScatter, go, traffic.vector_bytes);
      add(out.before_backward, CommType::kAllGather, go, traffic.vector_bytes / ep);
    } else {
      // If columns and rows are shared, every partial sum goes straight to the sample's rank.
      add(out.after_forward, CommType::kAllToAll, go, traffic.vector_bytes);
      add(out.before_backward, CommType::kAllToAll, go, traffic.vector_bytes);
    }
    const cost::TableStep step = cost::table_step_of(degrees_, tables_);
    const int copies = std::max(1, degrees_.dp / degrees_.ep);
    add(out.reduce, CommType::kAllGather, GroupKind::kExpertCopies, step.sparse / copies);
    add(out.reduce, CommType::kAllReduce, GroupKind::kExpertCopies, step.dense);
  }

  // Collectives of gradients and, if they are sharded, of weights (cost/data_parallel.hpp).
  void state(LayerWork& out, double parameters, const cost::Division& division, GroupKind inner,
             GroupKind outer) const {
    const cost::StackOptions& options = tables_.options();
    const double gradients = parameters * options.reduce_bytes;
    const double own = parameters * options.gather_bytes / division.pieces;
    const bool divided = division.pieces > 1;
    const bool each = shape_.gathers_each() && divided;
    Collectives& reduce = each ? out.scatter : out.reduce;
    // ZeRO-2 scatters in every micro-batch; replicas are reduced once.
    const bool scatters = each || shape_.reduces_each;
    if (divided)
      add(scatters ? out.scatter : out.reduce, CommType::kReduceScatter, inner, gradients);
    if (division.outer.group.size > 1)
      add(reduce, CommType::kAllReduce, outer, gradients / division.pieces);
    if (divided)
      add(each                     ? out.gather
          : shape_.gathers_forward ? out.before_forward
                                   : out.regather,
          CommType::kAllGather, inner, own);
  }

  // Seconds of a stage's kernels by pass, and of the collectives between them.
  struct StageSums {
    double forward = 0;
    double backward = 0;  // recompute and input gradients
    double weight = 0;
    double collectives = 0;
    double forward_collectives = 0;
    void add(const cost::LayerTime& time, double kernels) {
      forward += kernels;
      backward += time.recompute + time.compute - kernels - time.weight_gradient;
      weight += time.weight_gradient;
      collectives += time.tensor + time.context + time.expert;
      forward_collectives += time.forward - kernels;
    }
  };
  // How much longer each pass takes than its kernels.
  struct Stretch {
    double forward = 1;
    double backward = 1;
    double weight = 1;
  };

  // Each pass takes the simulator's time without its collectives; `waits` is their share of all
  // passes. If that is unknown (because gathering sharded weights belongs to no single pass), all
  // passes are scaled by the same factor.
  static Stretch stretch_of(const cost::PassSeconds& passes, double waits, const StageSums& sums) {
    const double kernels = sums.forward + sums.backward + sums.weight;
    if (kernels <= 0) return {};
    const double collectives = waits * passes.total();
    const double forward_part =
        sums.collectives > 0 ? sums.forward_collectives / sums.collectives : 0;
    const double forward = passes.forward - collectives * forward_part;
    const double seconds = passes.total() - collectives;
    const double all = std::max(0.0, seconds) / kernels;
    if (sums.forward <= 0 || forward <= 0 || forward >= seconds) return {all, all, all};
    // Weight gradients are separate if the schedule runs them separately.
    const double backward = seconds - forward - passes.weight;
    const double rest = sums.backward + sums.weight;
    if (passes.weight > 0 && backward > 0 && sums.backward > 0 && sums.weight > 0)
      return {forward / sums.forward, backward / sums.backward, passes.weight / sums.weight};
    if (rest <= 0) return {all, all, all};
    return {forward / sums.forward, (seconds - forward) / rest, (seconds - forward) / rest};
  }

  LayerWork layer(int index, const cost::KindCost& kind, const cost::KindRow& row,
                  Recompute recompute, const Stretch& stretch) {
    const model::LayerKind& shape = model_.layer(index);
    const bool block = shape.role == model::LayerRole::kBlock;
    LayerWork out;
    out.layer = index;
    out.forward = stretch.forward * kind.cost.forward;
    out.recompute = stretch.backward * row.time.recompute;
    out.weight = stretch.weight * row.time.weight_gradient;
    out.input =
        stretch.backward * (row.time.compute - kind.cost.forward - row.time.weight_gradient);
    const double samples = tables_.samples_per_micro_batch(degrees_);
    const double share = samples / (degrees_.tp * degrees_.cp);
    out.flops = counted_flops(shape, false) * share;
    cost::LayerSplit split;
    split.tp = degrees_.tp;
    split.cp = degrees_.cp;
    split.ep = degrees_.ep;
    split.expert_tp = degrees_.expert_tp;
    split.sequence_parallel = degrees_.sequence_parallel;
    split.samples = samples;
    split.context = cost::context_of(degrees_.cp, degrees_.context);
    if (tables_.has_tables()) split.tables = &tables_.table_slices(degrees_);
    const cost::KernelModel& kernels = tables_.kernels(degrees_.precision);
    for (const model::Operator& op : shape.operators)
      out.bytes += cost::operator_cost(op, kernels, split).bytes;
    out.repeats = block && recompute == Recompute::kFull;
    if (out.repeats)
      out.recompute_flops = out.flops;
    else if (block && recompute == Recompute::kSelective)
      out.recompute_flops = tables_.options().selective == cost::SelectiveRule::kEveryOtherBlock
                                ? out.flops / 2
                                : counted_flops(shape, true) * share;
    tensor(out, kind.cost);
    context(out, kind);
    experts(out, kind.cost);
    tables(out, shape);
    state(out, row.time.parameters - shared_parameters(index), shape_.dense, GroupKind::kState,
          GroupKind::kCopies);
    if (shape_.has_experts)
      state(out, row.time.expert_parameters, shape_.experts, GroupKind::kExpertState,
            GroupKind::kExpertCopies);
    return out;
  }

  StageLayers stage(int v, int first, int end) {
    const cost::KindCost* costs = tables_.costs(degrees_);
    const cost::KindRow* again = tables_.kinds(degrees_, degrees_.recompute);
    const cost::KindRow* plain = tables_.kinds(degrees_, Recompute::kNone);
    const int some = cost::stage_key(degrees_).recompute_blocks;
    std::vector<std::pair<int, bool>> layers;  // with whether it is recomputed
    StageSums sums;
    int blocks = 0;
    for (int i = first; i < end; ++i) {
      const bool block = model_.layer(i).role == model::LayerRole::kBlock;
      const bool repeated = !block || some == 0 || blocks++ < some;
      const int kind = model_.layers[i];
      sums.add((repeated ? again : plain)[kind].time, costs[kind].cost.forward);
      layers.emplace_back(i, repeated);
    }
    const cost::LaneWork& lane = step_.lanes.front();
    const Stretch stretch = stretch_of(lane.passes[v], lane.communication[v], sums);
    StageLayers out;
    for (const auto& [index, repeated] : layers) {
      const int kind = model_.layers[index];
      out.layers.push_back(layer(index, costs[kind], (repeated ? again : plain)[kind],
                                 repeated ? degrees_.recompute : Recompute::kNone, stretch));
    }
    if (end > 0 && v + 1 < degrees_.pp * degrees_.interleave) {
      const int last = model_.layers[end - 1];
      const int copies = degrees_.sequence_parallel ? 1 : degrees_.tp;
      out.message = whole(again[last].message / copies);
    }
    return out;
  }

  int rank_of_layer(int layer) const {
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), layer);
    return plan::pipeline_rank_of(degrees_, static_cast<int>(next - starts_.begin()) - 1);
  }
  // If two layers that share a weight are on the same ranks, these reduce and keep it once. In ZB-V
  // and in DualPipe both ends of the pipeline are on the same ranks.
  bool on_same_ranks(const model::TiedWeights& pair) const {
    return degrees_.pp == 1 || cost::stage_order(degrees_.schedule) != cost::StageOrder::kLooped ||
           rank_of_layer(pair.first) == rank_of_layer(pair.second);
  }
  // Parameters of a layer that an earlier layer on the same ranks already has.
  double shared_parameters(int layer) const {
    double shared = 0;
    for (const model::TiedWeights& pair : model_.tied)
      if (pair.second == layer && on_same_ranks(pair)) shared += pair.parameters / degrees_.tp;
    return shared;
  }

  // A weight that two layers share, if these are on different ranks.
  void tied(StepWork& work) const {
    if (model_.tied.empty() || on_same_ranks(model_.tied.front())) return;
    const model::TiedWeights& pair = model_.tied.front();
    work.tied_ranks = {rank_of_layer(pair.first), rank_of_layer(pair.second)};
    work.tied_first = pair.first;
    work.tied_last = pair.second;
    work.tied_bytes =
        whole(tables_.tied_parameters() / degrees_.tp * tables_.options().reduce_bytes);
  }

  void optimizer(StepWork& work) {
    const cost::KindRow* kinds = tables_.kinds(degrees_, degrees_.recompute);
    for (int rank = 0; rank < degrees_.pp; ++rank) {
      double updated = 0;
      for (int v = 0; v < static_cast<int>(work.stages.size()); ++v) {
        // DualPipe keeps stage v on rank pp - 1 - v as well.
        const bool dual = degrees_.pp > 1 && degrees_.schedule == plan::Schedule::kDualPipe;
        const int own = plan::pipeline_rank_of(degrees_, v);
        if (own != rank && !(dual && degrees_.pp - 1 - own == rank)) continue;
        for (int i = starts_[v]; i < starts_[static_cast<std::size_t>(v) + 1]; ++i) {
          const cost::LayerTime& time = kinds[model_.layers[i]].time;
          updated += (time.parameters - shared_parameters(i)) / shape_.dense_shards.optimizer +
                     time.expert_parameters / shape_.expert_shards.optimizer;
        }
      }
      const cost::StackOptions& options = tables_.options();
      const cost::TableStep rows = cost::table_step_of(degrees_, tables_);
      work.optimizer.push_back(
          {cost::optimizer_seconds(updated, options, tables_.machine(), degrees_.precision) +
               rows.update,
           updated * (options.gradient_bytes + 2 * options.optimizer_bytes + 2) + rows.updated});
    }
  }

  const model::Model& model_;
  const plan::Degrees& degrees_;
  cost::Tables tables_;
  cost::StepWork step_;
  cost::PlanShape shape_;
  std::vector<int> starts_;  // first layer of each virtual stage, and their number
};

}  // namespace

StepWork make_work(const model::Model& model, const cluster::Cluster& cluster,
                   const cost::Basis& basis, const plan::Degrees& degrees) {
  return Maker(model, cluster, basis, degrees).run();
}

}  // namespace nereus::chakra
