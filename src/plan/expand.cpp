#include "plan/expand.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "plan/stages.hpp"
#include "plan/table_placement.hpp"

namespace nereus::plan {

namespace {

bool has_experts(const model::Model& model, int first_layer, int num_layers) {
  for (int i = first_layer; i < first_layer + num_layers; ++i)
    if (model.layer(i).expert_parameters() > 0) return true;
  return false;
}

bool has_tables(const model::Model& model, const LayerRun& run) {
  const int layer = model.table_layer();
  return layer >= run.first_layer && layer < run.first_layer + run.num_layers;
}

std::int64_t units_of(double share) {
  return std::llround(std::clamp(share, 0.0, 1.0) * static_cast<double>(kStateUnits));
}

// Into how many pieces a zero group of `d` divides one slice: of the dense weights, and of experts.
int dense_pieces(const Degrees& d) { return d.zero_group > 0 ? d.zero_group : d.dp * d.cp; }
int expert_pieces(const Degrees& d) {
  return std::max(1, dense_pieces(d) * d.tp / (d.ep * d.expert_tp));
}

// The first ZeRO stage that divides this kind of state.
int zero_stage_of(StateKind kind) {
  switch (kind) {
    case StateKind::kOptimizer:
      return 1;
    case StateKind::kGradients:
      return 2;
    case StateKind::kWeights:
      return 3;
  }
  return 0;
}

double offload_of(const Degrees& d, StateKind kind) {
  switch (kind) {
    case StateKind::kOptimizer:
      return d.offload.optimizer;
    case StateKind::kWeights:
      return d.offload.weights;
    case StateKind::kGradients:
      return 0;
  }
  return 0;
}

// Appends the share, in two parts if some of it is offloaded.
void add_share(std::vector<StateShare>& state, StateShare share, std::int64_t units_beyond,
               Tier tier) {
  if (units_beyond > 0) {
    StateShare beyond = share;
    beyond.end = units_beyond;
    beyond.tier = tier;
    state.push_back(beyond);
    share.begin = units_beyond;
  }
  if (share.begin < share.end) state.push_back(share);
}

// `bases` are the first ranks of the pipeline ranks that keep the stage: one, or DualPipe's two.
std::vector<StateShare> stage_state(const Degrees& d, const std::vector<int>& bases, bool experts,
                                    bool tables) {
  const int stage_ranks = d.tp * d.cp * d.dp;
  std::vector<StateShare> state;
  for (bool of_experts : {false, true}) {
    if (of_experts && !experts && !tables) continue;
    StateShare share;
    share.experts = of_experts;
    share.cut = share.num_slices = of_experts ? d.ep * d.expert_tp : d.tp;
    for (int base : bases) share.ranks.push_back({base, stage_ranks / share.cut, share.cut});
    for (StateKind kind : {StateKind::kWeights, StateKind::kGradients, StateKind::kOptimizer}) {
      share.kind = kind;
      // Only ep cuts tables: a step touches few of their rows, so nothing is gathered.
      const bool divided = d.zero >= zero_stage_of(kind) && !(of_experts && tables);
      share.pieces = !divided ? 1 : of_experts ? expert_pieces(d) : dense_pieces(d);
      add_share(state, share, units_of(offload_of(d, kind)), d.offload.tier);
    }
  }
  return state;
}

Replicas stage_replicas(const Degrees& d) {
  Replicas r;
  r.count = d.dp;
  r.team_stride = d.tp * d.cp;
  r.tp = d.tp;
  r.cp = d.cp;
  r.context_stride = d.tp;
  r.micro_batch = d.micro_batch;
  r.num_micro_batches = d.num_micro_batches();
  r.team_sample_stride = d.micro_batch;
  r.micro_batch_stride = std::int64_t{d.dp} * d.micro_batch;
  r.recompute = d.recompute;
  r.offload_activations = d.offload.activations;
  if (r.offload_activations > 0) r.offload_tier = d.offload.tier;
  return r;
}

// How many layers of a run are recomputed: its first blocks, and the layers before them (which are
// never recomputed anyway); -1 if these are all its blocks.
int recompute_layers(const Degrees& d, const LayerRun& run, const LayerSpan& span) {
  if (d.recompute != Recompute::kFull || d.recompute_blocks == 0) return -1;
  const int first_block = std::max(run.first_layer, span.leading);
  const int end = std::min(run.first_layer + run.num_layers, span.leading + span.blocks);
  if (d.recompute_blocks >= end - first_block) return -1;
  return first_block - run.first_layer + d.recompute_blocks;
}

bool is_dual(const Degrees& d) { return d.schedule == Schedule::kDualPipe && d.pp > 1; }

}  // namespace

Placement expand(const Degrees& d, const model::Model& model) {
  const LayerSpan span = layer_span(model);
  const int num_stages = d.pp * d.interleave;
  NEREUS_CHECK(num_stages <= span.most_stages(), "expand needs degrees that pass check_degrees");
  std::vector<int> starts;
  starts.reserve(static_cast<std::size_t>(num_stages) + 1);
  for (int s = 0; s < num_stages; ++s) starts.push_back(stage_of(span, num_stages, s).first_layer);
  starts.push_back(model.num_layers());
  return expand(d, model, starts);
}

Placement expand(const Degrees& d, const model::Model& model, const std::vector<int>& starts) {
  Placement placement;
  placement.global_batch = d.global_batch;
  placement.precision = d.precision;
  placement.sequence_parallel = d.sequence_parallel;
  placement.tensor_overlap = d.tensor_overlap;
  placement.data_overlap = d.data_overlap;
  placement.schedule = d.schedule;
  placement.context = d.context;
  placement.state_types = d.state_types;

  const LayerSpan span = layer_span(model);
  const int num_stages = d.pp * d.interleave;
  NEREUS_CHECK(starts.size() == static_cast<std::size_t>(num_stages) + 1,
               "expand needs the first layer of every stage and the end");
  for (int s = 0; s < num_stages; ++s) {
    LayerRun run;
    run.first_layer = starts[s];
    run.num_layers = starts[static_cast<std::size_t>(s) + 1] - run.first_layer;
    run.stage = s;

    std::vector<int> bases = {rank_of(d, 0, 0, 0, pipeline_rank_of(d, s))};
    if (is_dual(d)) bases.push_back(rank_of(d, 0, 0, 0, d.pp - 1 - s));
    const int num_streams = static_cast<int>(bases.size());
    for (int stream = 0; stream < num_streams; ++stream) {
      Replicas replicas = stage_replicas(d);
      replicas.recompute_layers = recompute_layers(d, run, span);
      replicas.num_micro_batches /= num_streams;
      replicas.first = bases[stream];
      replicas.first_sample =
          std::int64_t{stream} * replicas.num_micro_batches * replicas.micro_batch_stride;
      run.replicas.push_back(replicas);
    }

    const bool experts = has_experts(model, run.first_layer, run.num_layers);
    const bool tables = has_tables(model, run);
    if (experts || tables) {
      run.ep = d.ep;
      run.expert_tp = d.expert_tp;
    }
    if (tables && d.ep > 1) {
      run.table_split = d.table_split;
      if (keeps_tables_whole(d.table_split))
        run.table_slices = deal_tables(model.layer(model.table_layer()), d.table_split, d.ep);
    }
    run.state = stage_state(d, bases, experts, tables);
    placement.runs.push_back(std::move(run));
  }
  return placement;
}

Degrees canonical(const Degrees& degrees, const model::Model& model) {
  Degrees d = degrees;
  const bool experts = has_experts(model, 0, model.num_layers());
  const bool tables = model.table_layer() >= 0;
  if (!experts && !tables) d.ep = d.expert_tp = 1;
  if (!tables || d.ep == 1) d.table_split = TableSplit::kTable;
  if (d.zero_group >= d.dp * d.cp || d.zero == 0) d.zero_group = 0;
  const bool divides_nothing = dense_pieces(d) == 1 && (!experts || expert_pieces(d) == 1);
  if (divides_nothing) d.zero = d.zero_group = 0;
  const int num_stages = d.pp * d.interleave;
  const int most_blocks = (layer_span(model).blocks + num_stages - 1) / num_stages;
  if (d.recompute != Recompute::kFull || d.recompute_blocks >= most_blocks) d.recompute_blocks = 0;
  for (double* share : {&d.offload.weights, &d.offload.optimizer})
    *share = static_cast<double>(units_of(*share)) / static_cast<double>(kStateUnits);
  if (d.offload.none()) d.offload.tier = Tier::kHost;
  return d;
}

}  // namespace nereus::plan
