// Recognizes regular placements: guesses the degrees, expands them, and compares. The comparison
// decides, so a wrong guess can only miss a regular plan, never accept another one.
#include <algorithm>

#include "plan/expand.hpp"
#include "plan/rules.hpp"
#include "plan/stages.hpp"

namespace nereus::plan {

namespace {

const StateShare* find_share(const LayerRun& run, StateKind kind, bool experts) {
  for (const StateShare& share : run.state)
    if (share.kind == kind && share.experts == experts) return &share;
  return nullptr;
}

// The share that the expansion offloads, and its tier.
double share_beyond(const LayerRun& run, StateKind kind, Tier& tier) {
  const StateShare* share = find_share(run, kind, false);
  if (share == nullptr || share->tier == Tier::kDevice) return 0;
  tier = share->tier;
  return static_cast<double>(share->end) / static_cast<double>(kStateUnits);
}

Offload read_offload(const LayerRun& run) {
  Offload offload;
  offload.activations = run.replicas.front().offload_activations;
  if (offload.activations > 0) offload.tier = run.replicas.front().offload_tier;
  offload.weights = share_beyond(run, StateKind::kWeights, offload.tier);
  offload.optimizer = share_beyond(run, StateKind::kOptimizer, offload.tier);
  return offload;
}

// The number of different first ranks of the stages: the pipeline's depth.
int count_pipeline_ranks(const Placement& placement) {
  std::vector<int> firsts;
  for (const LayerRun& run : placement.runs)
    if (!run.replicas.empty()) firsts.push_back(run.replicas.front().first);
  std::sort(firsts.begin(), firsts.end());
  return static_cast<int>(std::unique(firsts.begin(), firsts.end()) - firsts.begin());
}

// ZeRO's stage and group, from the pieces that dense state (and failing that, experts) is in.
void read_zero(Degrees& d, const LayerRun& run) {
  constexpr StateKind kByStage[] = {StateKind::kOptimizer, StateKind::kGradients,
                                    StateKind::kWeights};
  for (bool experts : {false, true}) {
    for (int stage = 1; stage <= 3; ++stage) {
      const StateShare* share = find_share(run, kByStage[stage - 1], experts);
      if (share == nullptr || share->pieces <= 1) continue;
      d.zero = std::max(d.zero, stage);
      // Only experts are sharded: each dense slice has a group of one rank, which still contains
      // several copies of the experts.
      if (!experts)
        d.zero_group = share->pieces;
      else if (d.zero_group == 0)
        d.zero_group = 1;
    }
  }
}

// Number of recomputed blocks per stage, if a stage has more; 0 if all are recomputed.
int recompute_blocks(const Placement& placement, const model::Model& model) {
  const int leading = layer_span(model).leading;
  for (const LayerRun& run : placement.runs)
    if (!run.replicas.empty() && run.replicas.front().recompute_layers >= 0)
      return std::max(
          0, run.replicas.front().recompute_layers - std::max(0, leading - run.first_layer));
  return 0;
}

// The degrees that this placement can only be the expansion of, if it is one at all.
std::optional<Degrees> read_degrees(const Placement& placement, const model::Model& model) {
  if (placement.runs.empty() || placement.runs.front().replicas.empty()) return std::nullopt;
  if (placement.global_batch < 1 || placement.global_batch > (1 << 30)) return std::nullopt;
  const LayerRun& run = placement.runs.front();
  const Replicas& replicas = run.replicas.front();
  Degrees d;
  d.tp = replicas.tp;
  d.cp = replicas.cp;
  d.dp = replicas.count;
  d.pp = count_pipeline_ranks(placement);
  d.interleave = static_cast<int>(placement.runs.size()) / std::max(d.pp, 1);
  d.micro_batch = replicas.micro_batch;
  d.global_batch = static_cast<int>(placement.global_batch);
  d.recompute = replicas.recompute;
  d.sequence_parallel = placement.sequence_parallel;
  d.tensor_overlap = placement.tensor_overlap;
  d.data_overlap = placement.data_overlap;
  d.precision = placement.precision;
  d.schedule = placement.schedule;
  d.context = placement.context;
  d.state_types = placement.state_types;
  d.offload = read_offload(run);
  for (const LayerRun& other : placement.runs) {  // the first run may hold no experts
    d.ep = std::max(d.ep, other.ep);
    d.expert_tp = std::max(d.expert_tp, other.expert_tp);
    if (other.table_split != TableSplit::kTable) d.table_split = other.table_split;
  }

  // Everything expand divides by or multiplies must be sane before it is called.
  constexpr int kMost = 1 << 20;
  for (int degree : {d.tp, d.pp, d.dp, d.cp, d.ep, d.expert_tp, d.interleave, d.micro_batch})
    if (degree < 1 || degree > kMost) return std::nullopt;
  if (double(d.tp) * d.pp * d.dp * d.cp > kMost) return std::nullopt;
  if (d.global_batch % (std::int64_t{d.dp} * d.micro_batch) != 0) return std::nullopt;
  if (std::int64_t{d.tp} * d.cp * d.dp % (std::int64_t{d.ep} * d.expert_tp) != 0)
    return std::nullopt;

  for (const LayerRun& other : placement.runs) read_zero(d, other);
  if (d.zero_group < 0 || d.zero_group > d.dp * d.cp) return std::nullopt;
  Degrees plain = canonical(d, model);
  plain.recompute_blocks = recompute_blocks(placement, model);  // stages may hold any number
  return plain;
}

// First layers of the runs, followed by the end; empty if the runs are not consecutive.
std::vector<int> run_starts(const Placement& placement, const model::Model& model) {
  std::vector<int> starts;
  int next = 0;
  for (const LayerRun& run : placement.runs) {
    if (run.first_layer != next || run.num_layers < 1 || run.num_layers > model.num_layers() - next)
      return {};
    starts.push_back(next);
    next += run.num_layers;
  }
  starts.push_back(next);
  return next == model.num_layers() ? starts : std::vector<int>();
}

}  // namespace

std::optional<Degrees> as_regular(const Placement& placement, const model::Model& model) {
  const std::optional<Degrees> d = read_degrees(placement, model);
  if (!d || std::int64_t{d->pp} * d->interleave > layer_span(model).most_stages())
    return std::nullopt;
  return expand(*d, model) == placement ? d : std::nullopt;
}

std::optional<Degrees> as_regular_with_own_stages(const Placement& placement,
                                                  const model::Model& model) {
  const std::optional<Degrees> d = read_degrees(placement, model);
  const std::vector<int> starts = run_starts(placement, model);
  if (!d || starts.empty() || static_cast<int>(starts.size()) != d->pp * d->interleave + 1)
    return std::nullopt;
  return expand(*d, model, starts) == placement ? d : std::nullopt;
}

}  // namespace nereus::plan
