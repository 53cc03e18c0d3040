#include "predict/general/reduce.hpp"

#include <algorithm>

#include "cost/data_parallel.hpp"

namespace nereus::cost::general {

using plan::LayerRun;

namespace {

// Parameters that are reduced together.
struct Bucket {
  const StateGroup* group;
  double parameters = 0;
};

void put(std::vector<Bucket>& list, const SliceState& slice, double parameters) {
  for (Bucket& bucket : list)
    if (*bucket.group == slice.reduce) {
      bucket.parameters += parameters;
      return;
    }
  list.push_back({&slice.reduce, parameters});
}

struct StageSeconds {
  double once = 0;
  double each = 0;
};

StageSeconds stage_reduce_seconds(Context& context, const PhysicalStage& stage) {
  std::vector<Bucket> once[2];  // of dense weights, of experts
  std::vector<Bucket> each[2];
  const auto add = [&](int kind, const SliceState& slice, double parameters) {
    if (parameters <= 0 || (context.gathers_each() && slice.weights.divided)) return;
    put(once[kind], slice, parameters);
    if (context.reduces_each(slice)) put(each[kind], slice, parameters);
  };
  for (const int index : stage.runs) {
    const LayerRun& run = context.run(index);
    const RunState& state = context.states[index];
    double dense = -context.tied_in(index, run.replicas.front().tp);
    double experts = 0;
    for (int i = 0; i < run.num_layers; ++i) {
      const int kind = context.model.layers[run.first_layer + i];
      dense += context.costs.dense_parameters(context.placement, kind, run.replicas.front().tp);
      experts += context.costs.expert_parameters(kind, run.ep * run.expert_tp);
    }
    add(0, state.dense, dense);
    add(1, state.experts, experts);
  }
  StageSeconds seconds;
  for (const int kind : {0, 1}) {
    for (const Bucket& own : once[kind])
      seconds.once += reduce_seconds(own.group->division, own.parameters, context.options);
    for (const Bucket& own : each[kind])
      seconds.each += reduce_each_seconds(own.group->division, own.parameters, context.options);
  }
  return seconds;
}

void add_shares(Context& context, const PhysicalStage& stage, std::vector<double>& share) {
  double sum = 0;
  for (const int index : stage.runs) {
    const LayerRun& run = context.run(index);
    for (int i = 0; i < run.num_layers; ++i) {
      const int kind = context.model.layers[run.first_layer + i];
      const double count =
          context.costs.dense_parameters(context.placement, kind, run.replicas.front().tp) +
          context.costs.expert_parameters(kind, run.ep * run.expert_tp);
      share[run.stage] += count;
      sum += count;
    }
  }
  if (sum <= 0) return;
  int last = -1;  // a virtual stage may have several runs
  for (const int index : stage.runs) {
    const int own = context.run(index).stage;
    if (own != last) share[own] /= sum;
    last = own;
  }
}

}  // namespace

double Reductions::longest() const { return *std::max_element(seconds.begin(), seconds.end()); }

Reductions reductions_of(Context& context) {
  Reductions out;
  out.share.resize(static_cast<std::size_t>(context.placement.runs.back().stage) + 1);
  for (const PhysicalStage& stage : context.layout.stages) {
    const StageSeconds own = stage_reduce_seconds(context, stage);
    out.seconds.push_back(own.once);
    if (context.layout.pipeline.depth == 1) out.each = std::max(out.each, own.each);
    add_shares(context, stage, out.share);
  }
  return out;
}

double tied_seconds(Context& context) {
  double seconds = 0;
  for (const model::TiedWeights& tied : context.model.tied) {
    const int first = context.run_of_layer(tied.first);
    const Layout& layout = context.layout;
    const auto a = static_cast<std::size_t>(layout.stage_of_run[first]);
    const auto b = static_cast<std::size_t>(layout.stage_of_run[context.run_of_layer(tied.second)]);
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

}  // namespace nereus::cost::general
