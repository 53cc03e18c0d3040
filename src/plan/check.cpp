#include "plan/check.hpp"

#include <fmt/format.h>

#include "base/format.hpp"
#include "plan/check_internal.hpp"

namespace nereus::plan {

namespace checking {

void Report::add(std::string code, std::string message, std::string hint) {
  if (++found_ > kMostShown) return;
  errors_.push_back({std::move(code), std::move(message), {}, std::move(hint), ErrorKind::kInput});
}

std::vector<Error> Report::take() {
  if (found_ > kMostShown)
    errors_.push_back({"plan.more",
                       fmt::format("and {} more of these", found_ - kMostShown),
                       {},
                       {},
                       ErrorKind::kInput});
  return std::move(errors_);
}

std::string run_name(const Placement& placement, std::size_t run) {
  const LayerRun& r = placement.runs[run];
  return r.num_layers == 1 ? fmt::format("run {} (layer {})", run, r.first_layer)
                           : fmt::format("run {} (layers {}..{})", run, r.first_layer,
                                         std::int64_t{r.first_layer} + r.num_layers - 1);
}

std::string replicas_name(const Placement& placement, std::size_t run, std::size_t replicas) {
  return fmt::format("{}, replicas {}", run_name(placement, run), replicas);
}

namespace {

void read_model(const model::Model& model, LayerFacts& facts, Report& report) {
  facts.num_layers = model.num_layers();
  if (facts.num_layers == 0) {
    report.add("plan.model", "the model has no layers");
    return;
  }
  std::vector<bool> dense, experts, blocks;
  for (const model::LayerKind& kind : model.kinds) {
    double inside = 0, outside = 0;
    for (const model::Operator& op : kind.operators) {
      const bool of_experts =
          op.split == model::Split::kExperts || op.split == model::Split::kTables;
      (of_experts ? inside : outside) += op.parameters;
      facts.splits_tensors |= !of_experts && op.split != model::Split::kReplicated;
    }
    dense.push_back(outside > 0);
    experts.push_back(inside > 0);
    blocks.push_back(kind.role == model::LayerRole::kBlock);
  }
  facts.dense = facts.experts = facts.blocks = {0};
  for (int kind : model.layers) {
    if (kind < 0 || kind >= static_cast<int>(model.kinds.size())) {
      report.add("plan.model", fmt::format("a layer is of kind {}, but there {} {}", kind,
                                           model.kinds.size() == 1 ? "is" : "are",
                                           counted(model.kinds.size(), "kind")));
      return;
    }
    const auto k = static_cast<std::size_t>(kind);
    facts.dense.push_back(facts.dense.back() + (dense[k] ? 1 : 0));
    facts.experts.push_back(facts.experts.back() + (experts[k] ? 1 : 0));
    facts.blocks.push_back(facts.blocks.back() + (blocks[k] ? 1 : 0));
  }
  for (int i = 0; i < facts.num_layers; ++i)
    for (const model::Operator& op : model.layer(i).operators)
      if (op.split == model::Split::kTables) {
        facts.table_layer = i;
        facts.table_dims.push_back(static_cast<int>(op.n));
      }
  for (const model::TiedWeights& tied : model.tied) {
    if (std::min(tied.first, tied.second) >= 0 &&
        std::max(tied.first, tied.second) < facts.num_layers)
      continue;
    report.add("plan.model", fmt::format("tied layers {} and {}, but there {} {}", tied.first,
                                         tied.second, facts.num_layers == 1 ? "is" : "are",
                                         counted(facts.num_layers, "layer")));
    return;
  }
}

void read_cluster(const cluster::Cluster& cluster, Facts& facts, Report& report) {
  std::int64_t ranks = 0;
  for (const cluster::NodeGroup& group : cluster.groups) {
    const std::int64_t begin = ranks;
    ranks = plus(ranks, times(std::max(group.count, 0), std::max(group.node.num_devices, 0)));
    if (ranks > kMostRanks) {
      report.add("plan.too-large", fmt::format("the cluster has {} devices or more; at most {} are "
                                               "checked",
                                               ranks, kMostRanks));
      return;
    }
    facts.groups.push_back({static_cast<int>(begin), static_cast<int>(ranks), &group.node});
  }
  facts.num_ranks = static_cast<int>(ranks);
}

// Whether the runs lie one after the other over all layers; only then is anything else looked at.
bool check_layers(const Facts& facts, Report& report) {
  const int before = report.num_found();
  std::int64_t next_layer = 0;
  std::int64_t stage = -1;
  for (std::size_t i = 0; i < facts.placement.runs.size(); ++i) {
    const LayerRun& run = facts.placement.runs[i];
    if (run.num_layers < 1)
      report.add("plan.layers", fmt::format("run {} has num_layers = {}", i, run.num_layers),
                 "at least 1");
    if (run.first_layer != next_layer)
      report.add("plan.layers",
                 fmt::format("run {} starts at layer {}, but the runs before it end at layer {}", i,
                             run.first_layer, next_layer),
                 fmt::format("first_layer = {}", next_layer));
    next_layer = plus(run.first_layer, run.num_layers);
    if (run.stage != stage && run.stage != stage + 1)
      report.add("plan.stages",
                 i == 0 ? fmt::format("run 0, the first, is on stage {}", run.stage)
                        : fmt::format("run {} is on stage {} after stage {}", i, run.stage, stage),
                 "stages count 0, 1, 2, ... along the runs");
    stage = run.stage;
  }
  if (next_layer != facts.layers.num_layers)
    report.add("plan.layers",
               fmt::format("the runs end at layer {} of {}", next_layer, facts.layers.num_layers));
  return report.num_found() == before;
}

// A tied weight is one weight in two layers: its slices must be the same in both.
void check_tied(const Facts& facts, Report& report) {
  const auto run_of = [&](int layer) {
    return std::find_if(
        facts.placement.runs.begin(), facts.placement.runs.end(), [&](const LayerRun& run) {
          return layer >= run.first_layer && layer < run.first_layer + run.num_layers;
        });
  };
  const auto cuts_of = [](const LayerRun& run) {
    std::vector<int> cuts;
    for (const Replicas& replicas : run.replicas) cuts.push_back(replicas.tp);
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    return cuts;
  };
  for (const model::TiedWeights& tied : facts.model.tied) {
    const auto first = run_of(tied.first), second = run_of(tied.second);
    if (cuts_of(*first) == cuts_of(*second)) continue;
    report.add("plan.tied",
               fmt::format("layers {} and {} share a weight, but their replicas split it "
                           "differently",
                           tied.first, tied.second),
               "the same tp for both");
  }
}

}  // namespace

}  // namespace checking

std::vector<Error> check(const Placement& placement, const model::Model& model,
                         const cluster::Cluster& cluster) {
  using namespace checking;
  Report report;
  Facts facts{placement, model, {}, {}, 0};
  read_model(model, facts.layers, report);
  read_cluster(cluster, facts, report);
  if (placement.global_batch < 1)
    report.add("plan.samples", fmt::format("global_batch = {}", placement.global_batch),
               "at least 1");
  if (placement.global_batch > kMostSamples)
    report.add("plan.too-large", fmt::format("global_batch = {}; at most {} is checked",
                                             placement.global_batch, kMostSamples));
  if (!report.empty() || !check_layers(facts, report)) return report.take();

  WorkChecker work(facts, report);
  StateChecker state(facts, report);
  for (std::size_t i = 0; i < placement.runs.size(); ++i) {
    work.check_run(i);
    state.check_run(i);
  }
  work.finish();
  check_tied(facts, report);
  return report.take();
}

}  // namespace nereus::plan
