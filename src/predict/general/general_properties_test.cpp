// Properties of any placement: random clusters of different machines, teams, stages and state.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "plan/check.hpp"
#include "predict/general/general_predictor.hpp"
#include "predict/predict_testing.hpp"

namespace nereus::cost::general_properties_test {
namespace {

using plan::Gather;
using plan::LayerRun;
using plan::Placement;
using plan::Replicas;
using plan::StateKind;
using plan::StateShare;
using testing::around;
using testing::pick;

constexpr StateKind kKinds[] = {StateKind::kWeights, StateKind::kGradients, StateKind::kOptimizer};

Replicas team_on(int rank, int micro_batch, int num_micro_batches, std::int64_t first_sample) {
  Replicas r;
  r.first = rank;
  r.micro_batch = micro_batch;
  r.num_micro_batches = num_micro_batches;
  r.first_sample = first_sample;
  return r;
}

struct Irregular {
  model::Model model;
  cluster::Cluster cluster;
  Basis basis;
  Placement placement;
};

cluster::Cluster any_mixed_cluster(int& num_ranks) {
  cluster::Cluster cluster;
  num_ranks = 0;
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
    const int devices = pick({1, 2, 4});
    cluster.groups.push_back(
        testing::any_cluster(devices * *rc::gen::inRange(1, 4)).groups.front());
    for (const char* tier : {"host", "expanded"})
      if (cluster.groups.back().node.tier(tier) == nullptr)
        cluster.groups.back().node.tiers.push_back(
            {tier, Bytes{around(1e10, 4e12)}, BytesPerSecond{around(1e9, 1e11)}, Seconds{1e-6}});
    num_ranks += cluster.groups.back().num_devices();
  }
  return cluster;
}

// State of a run on `ranks` (of the first tensor slice; those of the others are next to them):
// replicas, even or uneven shards, some of it offloaded.
void add_any_state(LayerRun& run, const std::vector<int>& ranks, int tp) {
  const int zero = *rc::gen::inRange(0, 4);
  const bool beyond = *rc::gen::inRange(0, 4) == 0;
  for (const StateKind kind : kKinds) {
    const int first_divided = kind == StateKind::kOptimizer   ? 1
                              : kind == StateKind::kGradients ? 2
                                                              : 3;
    StateShare share;
    share.kind = kind;
    share.cut = share.num_slices = tp;
    if (beyond && kind != StateKind::kGradients)
      share.tier = pick({plan::Tier::kHost, plan::Tier::kExpanded});
    if (zero < first_divided) {
      for (const int rank : ranks) share.ranks.push_back({rank, 1, 1});
      run.state.push_back(share);
      continue;
    }
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      share.ranks = {{ranks[i], 1, 1}};
      share.begin = begin;
      share.end = i + 1 == ranks.size()
                      ? plan::kStateUnits
                      : begin + (plan::kStateUnits - begin) / 8 * *rc::gen::inRange(0, 8);
      begin = share.end;
      run.state.push_back(share);
    }
  }
}

// Stages of any width and number of layers; within one stage samples handed out in equal parts, or,
// for plans of one run, in any.
Irregular any_irregular() {
  Irregular c;
  int num_ranks = 0;
  c.cluster = any_mixed_cluster(num_ranks);
  c.model = testing::any_transformer(false);
  c.basis.stack = testing::any_stack();
  c.placement.gather = pick({Gather::kPerMicroBatch, Gather::kPerPass, Gather::kPerStep});
  const bool pipeline = *rc::gen::arbitrary<bool>();
  const bool one_run = !pipeline && *rc::gen::arbitrary<bool>();
  c.placement.schedule = pick({plan::Schedule::kGpipe, plan::Schedule::k1f1b});
  const int num_layers = c.model.num_layers();
  const int num_runs =
      one_run ? 1 : *rc::gen::inRange(1, std::min(num_layers, pipeline ? num_ranks : 5) + 1);
  c.placement.global_batch = 48;
  int next_rank = 0;
  for (int i = 0; i < num_runs; ++i) {
    LayerRun run;
    run.stage = pipeline ? i : 0;
    run.first_layer = c.placement.runs.empty() ? 0
                                               : c.placement.runs.back().first_layer +
                                                     c.placement.runs.back().num_layers;
    const int left = num_layers - run.first_layer - (num_runs - 1 - i);
    run.num_layers = i + 1 == num_runs ? left : *rc::gen::inRange(1, left + 1);
    const int first = pipeline ? next_rank : *rc::gen::inRange(0, num_ranks);
    const int room = num_ranks - first - (pipeline ? num_runs - 1 - i : 0);
    const bool splits = !one_run && room >= 2 && c.model.tied.empty() &&
                        c.model.transformer->heads % 2 == 0 && c.model.transformer->kv_heads != 3 &&
                        *rc::gen::arbitrary<bool>();
    const int tp = splits ? 2 : 1;
    int width = *rc::gen::inRange(1, std::min(room / tp, 8) + 1);
    std::vector<int> ranks;
    if (one_run) {
      c.placement.global_batch = 0;
      for (int rank = first; rank < first + width; ++rank) {
        Replicas team = team_on(rank, *rc::gen::inRange(1, 5), *rc::gen::inRange(1, 4),
                                c.placement.global_batch);
        team.recompute = static_cast<plan::Recompute>(*rc::gen::inRange(0, 3));
        team.recompute_layers = *rc::gen::inRange(-1, run.num_layers + 1);
        team.offload_activations = pick({0.0, 0.0, 0.5, 1.0});
        team.offload_tier = pick({plan::Tier::kHost, plan::Tier::kExpanded});
        c.placement.global_batch += team.samples_per_team();
        run.replicas.push_back(team);
      }
    } else {
      while (48 % width != 0) --width;
      Replicas team = team_on(first, pick({1, 2, 48 / width}), 1, 0);
      while (48 % (width * team.micro_batch) != 0) --team.micro_batch;
      team.count = width;
      team.tp = team.team_stride = tp;
      team.num_micro_batches = 48 / (width * team.micro_batch);
      team.team_sample_stride = team.micro_batch;
      team.micro_batch_stride = std::int64_t{width} * team.micro_batch;
      team.recompute = static_cast<plan::Recompute>(*rc::gen::inRange(0, 3));
      run.replicas.push_back(team);
    }
    for (int t = 0; t < width; ++t) ranks.push_back(first + t * tp);
    next_rank = first + width * tp;
    add_any_state(run, ranks, tp);
    c.placement.runs.push_back(run);
  }
  return c;
}

RC_GTEST_PROP(IrregularProperties, AreSound, ()) {
  const Irregular c = any_irregular();
  RC_LOG() << plan::plan_to_json({1, c.model, c.cluster, c.basis.stack.name, {}, c.placement})
           << "\n";
  for (const Error& error : plan::check(c.placement, c.model, c.cluster)) RC_FAIL(error.message);
  const Prediction p = predict(c.placement, c.model, c.cluster, c.basis);
  RC_ASSERT(std::isfinite(p.step) && p.step > 0);
  double seconds = 0;
  for (const double part : p.parts) {
    RC_ASSERT(part >= -1e-12 * p.step);
    seconds += part;
  }
  RC_ASSERT(std::abs(seconds - p.step) <= 1e-12 * p.step);
  double bytes = 0;
  for (const double part : p.memory.parts) bytes += part;
  RC_ASSERT(std::abs(bytes - p.memory.total) <= 1e-12 * p.memory.total);
  RC_ASSERT(!p.fits || p.memory.total <= p.memory.capacity);
}

RC_GTEST_PROP(IrregularProperties, MoreOfAMachineIsNeverSlower, ()) {
  Irregular c = any_irregular();
  RC_LOG() << plan::plan_to_json({1, c.model, c.cluster, c.basis.stack.name, {}, c.placement})
           << "\n";
  const Prediction before = predict(c.placement, c.model, c.cluster, c.basis);
  const double factor = pick({1.01, 2.0, 50.0});
  const auto group =
      static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(c.cluster.groups.size())));
  cluster::Node& node = c.cluster.groups[group].node;
  const int what = *rc::gen::inRange(0, 5);
  if (what == 0) node.inside.bandwidth *= factor;
  if (what == 1) node.network *= factor;
  if (what == 2) node.device.memory_bandwidth *= factor;
  if (what == 3)
    for (FlopsPerSecond& peak : node.device.peak) peak *= factor;
  if (what == 4)
    for (cluster::MemoryTier& tier : node.tiers) tier.bandwidth *= factor;
  const Prediction after = predict(c.placement, c.model, c.cluster, c.basis);
  RC_LOG() << "what " << what << " group " << group << " factor " << factor << "\n";
  for (std::size_t i = 0; i < before.parts.size(); ++i)
    RC_LOG() << to_string(static_cast<Part>(i)) << ": " << before.parts[i] << " -> "
             << after.parts[i] << "\n";
  RC_ASSERT(after.step <= before.step * (1 + 1e-12));
}

RC_GTEST_PROP(IrregularProperties, TheOrderOfTeamsDoesNotMatter, ()) {
  Irregular c = any_irregular();
  const Prediction before = predict(c.placement, c.model, c.cluster, c.basis);
  for (LayerRun& run : c.placement.runs) {
    std::reverse(run.replicas.begin(), run.replicas.end());
    std::reverse(run.state.begin(), run.state.end());
  }
  const Prediction after = predict(c.placement, c.model, c.cluster, c.basis);
  RC_ASSERT(std::abs(before.step - after.step) <= 1e-9 * before.step);
  RC_ASSERT(std::abs(before.memory.total - after.memory.total) <= 1e-9 * before.memory.total);
}

}  // namespace
}  // namespace nereus::cost::general_properties_test
