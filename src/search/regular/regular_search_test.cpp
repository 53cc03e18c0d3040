#include "search/regular/regular_search.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "cluster/load_cluster.hpp"
#include "model/read/load_model.hpp"
#include "model/transformer.hpp"
#include "plan/check.hpp"
#include "plan/expand.hpp"
#include "predict/general/general_predictor.hpp"
#include "predict/predict_testing.hpp"
#include "stack/stack_file.hpp"

namespace nereus::search::regular_search_test {
namespace {

using plan::Degrees;
using plan::Recompute;
using plan::Schedule;

auto fields(const Degrees& d) {
  return std::tuple(d.tp, d.pp, d.dp, d.cp, d.ep, d.expert_tp, d.interleave, d.micro_batch,
                    d.recompute, d.recompute_blocks, d.zero, d.zero_group, d.sequence_parallel,
                    d.tensor_overlap, d.data_overlap, d.schedule, d.offload.weights,
                    d.offload.optimizer, d.offload.activations, d.offload.tier, d.context);
}

// A small problem, and every setting that a search of it may use.
struct Problem {
  model::Model model;
  cluster::Cluster cluster;
  cost::Basis basis;
  Choices choices;
  double headroom = 0;
};

// Nothing, some of the eighths of a tier or two in any order, or (few devices: brute force is slow)
// all that the search derives.
void add_offloads(Problem& p, bool all) {
  const std::vector<cluster::MemoryTier>& tiers = p.cluster.groups.front().node.tiers;
  if (tiers.empty() || *rc::gen::inRange(0, 3) == 0) return;
  const auto share = [] { return *rc::gen::element(0, 0, 1, 2, 5, 7, 8, 8) / 8.0; };
  if (all && *rc::gen::inRange(0, 3) == 0) {
    p.choices.offload_any = true;
    p.choices.offloads = {{}};
    for (const cluster::MemoryTier& tier : tiers) {
      const plan::Tier place = *plan::parse_tier(tier.name);
      for (int i = 1; i <= 8; ++i)
        for (const plan::Offload& offload :
             {plan::Offload{0, i / 8.0, 0, place}, plan::Offload{0, 1, i / 8.0, place},
              plan::Offload{i / 8.0, 1, 1, place}, plan::Offload{0, 0, i / 8.0, place}})
          p.choices.offloads.push_back(offload);
    }
    return;
  }
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
    const plan::Offload one{share(), share(), share(),
                            *plan::parse_tier((*rc::gen::elementOf(tiers)).name)};
    const auto& known = p.choices.offloads;
    if (!one.none() && std::find(known.begin(), known.end(), one) == known.end())
      p.choices.offloads.push_back(one);
  }
}

Problem any_problem() {
  Problem p;
  model::TransformerShape shape = *cost::testing::any_transformer(true).transformer;
  const int devices = *rc::gen::element(1, 2, 2, 4, 4, 6, 8);
  // Brute force is slow: few layers, or many on few devices.
  if (devices > 2) shape.layers = 1 + shape.layers % 5;
  if (!shape.pattern.empty()) shape.pattern.resize(static_cast<std::size_t>(shape.layers), '*');
  shape.dense_layers = std::min(shape.dense_layers, shape.layers);
  p.model = model::build_transformer(shape);
  p.basis.stack = cost::testing::any_stack();
  p.cluster = cost::testing::any_cluster(devices);
  p.choices.global_batch = *rc::gen::element(4, 6, 8, 16);
  p.choices.schedules = *rc::gen::element(
      std::vector<Schedule>{Schedule::k1f1b, Schedule::kInterleaved},
      std::vector<Schedule>{Schedule::kGpipe, Schedule::k1f1b, Schedule::kZbH1},
      std::vector<Schedule>{Schedule::kVaruna, Schedule::k1f1b},
      std::vector<Schedule>{Schedule::kVaruna},
      std::vector<Schedule>{Schedule::kInterleaved, Schedule::kZbV, Schedule::kDualPipe});
  p.choices.offloads = {{}};
  add_offloads(p, devices <= 2);
  p.headroom = *rc::gen::element(0.0, 0.0, 0.2);
  // Machines between too small and ample for what the model needs.
  double& memory = p.cluster.groups.front().node.device.memory.value;
  memory =
      p.model.parameters() * 18 / p.cluster.num_devices() * *rc::gen::element(0.5, 1.0, 2.0, 8.0) +
      *rc::gen::element(1e8, 1e9, 4e9);
  return p;
}

// Straight loops over all fields: nothing that the search uses but the rules and the predictor.
template <class F>
void brute_force(const Problem& p, F&& take) {
  const plan::DegreeLimits limits = plan::degree_limits(p.model, p.cluster);
  const cluster::Node& node = p.cluster.groups.front().node;
  const bool has_experts = std::any_of(p.model.layers.begin(), p.model.layers.end(), [&](int kind) {
    return p.model.kinds[kind].expert_parameters() > 0;
  });
  const int devices = limits.devices;
  const int blocks = limits.span.blocks;
  std::set<decltype(fields(Degrees{}))> seen;
  Degrees d;
  d.global_batch = p.choices.global_batch;
  const auto offer = [&] {
    if (plan::violated_rules(d, limits) != 0) return;
    Degrees own = plan::canonical(d, p.model);
    if (own.tp == 1) own.tensor_overlap = false;
    const bool divides = own.dp * own.cp > 1 || (has_experts && own.tp > own.ep * own.expert_tp);
    if (!divides) own.data_overlap = true;
    if (own.pp == 1) own.schedule = Schedule::k1f1b;
    if (own.pp > 1 && own.zero == 2) own.zero = 1;
    if (own.schedule == Schedule::kInterleaved && own.interleave == 1 &&
        p.choices.schedules.front() == Schedule::k1f1b)
      own.schedule = Schedule::k1f1b;
    if (seen.insert(fields(own)).second) take(own);
  };
  const auto with_rest = [&] {
    // All numbers of blocks up to eight a stage, eighths beyond.
    const int most = (blocks + d.pp * d.interleave - 1) / (d.pp * d.interleave);
    std::set<int> some = {0};
    for (int i = 1; i < most; ++i) some.insert(most <= 8 ? i : most * (i % 8) / 8);
    for (const int recompute : {0, 1, 2})
      for (const int first : recompute == 2 ? some : std::set<int>{0})
        for (d.zero = 0; d.zero <= 3; ++d.zero)
          for (const int group : {0, std::max(node.num_devices, node.domain()) / d.tp})
            for (const plan::Offload& offload : p.choices.offloads)
              for (int flags = 0; flags < 8; ++flags) {
                d.recompute = static_cast<Recompute>(recompute);
                d.recompute_blocks = first;
                d.zero_group = group;
                d.offload = offload;
                d.sequence_parallel = (flags & 1) != 0;
                d.tensor_overlap = (flags & 2) != 0;
                d.data_overlap = (flags & 4) != 0;
                if (group == 1) continue;
                offer();
              }
  };
  for (d.tp = 1; d.tp <= devices; ++d.tp)
    for (d.pp = 1; d.tp * d.pp <= devices; ++d.pp)
      for (d.cp = 1; d.tp * d.pp * d.cp <= devices; ++d.cp) {
        if (devices % (d.tp * d.pp * d.cp) != 0) continue;
        d.dp = devices / (d.tp * d.pp * d.cp);
        const bool zigzag = p.model.transformer->causal && limits.seq % (2 * d.cp) == 0;
        for (d.ep = 1; d.ep <= std::max(1, limits.experts); ++d.ep)
          for (const int choice : {0, 1, 2, 3}) {
            const int expert_tp = choice % 2 == 0 ? 1 : d.tp;
            d.context = choice >= 2 && d.cp > 1 ? plan::ContextKind::kAllToAll
                        : zigzag || d.cp == 1   ? plan::ContextKind::kZigzag
                                                : plan::ContextKind::kRing;
            d.expert_tp = limits.experts > 0 ? expert_tp : 1;
            for (d.micro_batch = 1; d.micro_batch <= d.global_batch; ++d.micro_batch)
              for (const Schedule schedule : p.choices.schedules)
                for (d.interleave = 1; d.interleave <= std::max(1, blocks + 2); ++d.interleave) {
                  d.schedule = schedule;
                  if (d.pp == 1 && d.interleave > 1) break;
                  with_rest();
                }
          }
      }
}

bool fits(const cost::Prediction& prediction, double headroom) {
  return prediction.memory.total <= prediction.memory.capacity * (1 - headroom) &&
         prediction.memory.beyond <= prediction.memory.beyond_capacity;
}

// rapidcheck runs it 100 times: 200 problems.
RC_GTEST_PROP(Search, FindsWhatBruteForceFinds, ()) {
  for (int round = 0; round < 2; ++round) {
    const Problem p = any_problem();
    cost::Predictor predictor(p.model, p.cluster, p.basis);
    std::int64_t count = 0;
    std::map<std::tuple<int, int, int>, double> by_layout;
    brute_force(p, [&](const Degrees& d) {
      ++count;
      const cost::Prediction prediction = predictor.predict(d);
      if (!fits(prediction, p.headroom)) return;
      double& best = by_layout.try_emplace({d.tp, d.pp, d.ep}, 1e300).first->second;
      best = std::min(best, prediction.step);
    });
    std::vector<double> expected;
    for (const auto& [layout, step] : by_layout) expected.push_back(step);
    std::sort(expected.begin(), expected.end());
    if (expected.size() > 5) expected.resize(5);

    SearchOptions options;
    options.headroom = p.headroom;
    options.threads = 1 + round % 2;
    const SearchResult result = search(p.model, {p.cluster}, p.basis, p.choices, options);
    RC_ASSERT(result.space == count);
    RC_ASSERT(result.evaluated + result.pruned == result.space);
    RC_ASSERT(result.plans.size() == expected.size());
    // Where the play of their passes decides (predict/played.hpp), plans tie but for rounding.
    for (std::size_t i = 0; i < expected.size(); ++i)
      RC_ASSERT(std::abs(result.plans[i].prediction.step - expected[i]) <= 1e-13 * expected[i]);
    RC_ASSERT(result.nearest.has_value() == (expected.empty() && count > 0));
  }
}

// The same for models with tables: every way to share them, every micro-batch, ZeRO and offload.
RC_GTEST_PROP(Search, FindsWhatBruteForceFindsOfTables, ()) {
  const model::Model model = cost::testing::any_dlrm();
  const int devices = *rc::gen::element(1, 2, 4, 6, 8);
  const cost::Basis basis(cost::testing::any_stack());
  cluster::Cluster cluster = cost::testing::any_cluster(devices);
  cluster::Node& node = cluster.groups.front().node;
  node.device.memory.value = model.parameters() * *rc::gen::element(0.5, 2.0, 20.0) + 4e9;
  Choices choices;
  choices.global_batch = 48;
  choices.recompute = {RecomputeChoice::kNone, RecomputeChoice::kFull};
  choices.offloads = {{}};
  if (!node.tiers.empty()) choices.offloads.push_back({1, *rc::gen::element(0.0, 1.0), 0});

  const plan::DegreeLimits limits = plan::degree_limits(model, cluster);
  cost::Predictor predictor(model, cluster, basis);
  std::map<std::pair<int, plan::TableSplit>, double> by_layout;
  Degrees d;
  d.dp = devices;
  d.global_batch = choices.global_batch;
  for (d.ep = 1; d.ep <= devices; ++d.ep)
    for (int split = 0; split < (d.ep == 1 ? 1 : 4); ++split)
      for (d.micro_batch = 1; d.micro_batch <= d.global_batch; ++d.micro_batch)
        for (d.zero = 0; d.zero <= 3; ++d.zero)
          for (const int group : {0, std::max(node.num_devices, node.domain())})
            for (const Recompute recompute : {Recompute::kNone, Recompute::kFull})
              for (const plan::Offload& offload : choices.offloads) {
                d.table_split = static_cast<plan::TableSplit>(split);
                d.zero_group = group;
                d.recompute = recompute;
                d.offload = offload;
                if (plan::violated_rules(d, limits) != 0) continue;
                const cost::Prediction p = predictor.predict(d);
                if (!fits(p, 0)) continue;
                double& best = by_layout.try_emplace({d.ep, d.table_split}, 1e300).first->second;
                best = std::min(best, p.step);
              }
  std::vector<double> expected;
  for (const auto& [layout, step] : by_layout) expected.push_back(step);
  std::sort(expected.begin(), expected.end());
  if (expected.size() > 5) expected.resize(5);
  const SearchResult result = search(model, {cluster}, basis, choices, {});
  RC_ASSERT(result.plans.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    RC_ASSERT(result.plans[i].prediction.step == expected[i]);
    const plan::Placement placement = cost::expand_for(result.plans[i].degrees, model, basis.stack);
    RC_ASSERT(plan::check(placement, model, cluster).empty());
  }
}

RC_GTEST_PROP(Search, AnswersPassTheCheckerAndAreTheSameAtAnyNumberOfThreads, ()) {
  const Problem p = any_problem();
  SearchOptions options;
  options.headroom = p.headroom;
  std::vector<SearchResult> results;
  for (const int threads : {1, 2, 5}) {
    options.threads = threads;
    results.push_back(search(p.model, {p.cluster}, p.basis, p.choices, options));
  }
  for (const SearchResult& result : results) {
    RC_ASSERT(result.evaluated == results[0].evaluated);
    RC_ASSERT(result.pruned == results[0].pruned);
    RC_ASSERT(result.too_much_memory == results[0].too_much_memory);
    RC_ASSERT(result.plans.size() == results[0].plans.size());
    for (std::size_t i = 0; i < result.plans.size(); ++i)
      RC_ASSERT(result.plans[i].degrees == results[0].plans[i].degrees);
  }
  for (const Candidate& plan : results[0].plans) {
    const plan::Placement placement = cost::expand_for(plan.degrees, p.model, p.basis.stack);
    RC_ASSERT(plan::check(placement, p.model, p.cluster).empty());
  }
}

// Every candidate of several sizes of one machine; none of the front is beaten, and none is
// missing.
RC_GTEST_PROP(Search, TheFrontIsThatOfBruteForce, ()) {
  Problem p = any_problem();
  p.choices.offloads = {{}};
  p.choices.offload_any = false;
  cluster::NodeGroup& group = p.cluster.groups.front();
  group.node.price.on_demand = UsdPerHour{*rc::gen::element(1.0, 20.0)};
  group.node.device.power = Watts{700};
  std::vector<cluster::Cluster> clusters;
  for (const int count : {1, 2, 3}) {
    clusters.push_back(p.cluster);
    clusters.back().groups.front().count = count;
  }
  std::vector<std::array<double, kNumObjectives>> all;
  for (const cluster::Cluster& cluster : clusters) {
    Problem own{p.model, cluster, p.basis, p.choices, 0};
    cost::Predictor predictor(own.model, own.cluster, own.basis);
    const Rates rates = rates_of(cluster);
    brute_force(own, [&](const Degrees& d) {
      const cost::Prediction prediction = predictor.predict(d);
      if (!fits(prediction, 0)) return;
      auto& values = all.emplace_back();
      for (int i = 0; i < kNumObjectives; ++i)
        values[i] = value_of(static_cast<Objective>(i), prediction.step, prediction.busy, rates);
    });
  }
  SearchOptions options;
  options.objectives = {Objective::kTime, Objective::kMoney, Objective::kEnergy};
  const SearchResult result = search(p.model, clusters, p.basis, p.choices, options);
  // But for rounding: plans that differ in what the host hides take the same step.
  const auto no_worse = [](const auto& a, const auto& b, double rounding = 1e-12) {
    const double more = 1 + rounding;
    return a[0] <= b[0] * more && a[1] <= b[1] * more && a[2] <= b[2] * more;
  };
  for (const auto& values : all)
    RC_ASSERT(std::any_of(result.plans.begin(), result.plans.end(),
                          [&](const Candidate& plan) { return no_worse(plan.values, values); }));
  for (const Candidate& plan : result.plans)
    RC_ASSERT(std::none_of(all.begin(), all.end(), [&](const auto& values) {
      return no_worse(values, plan.values, 0) && !no_worse(plan.values, values);
    }));
}

TEST(Search, StopsWhenAskedAndSaysSo) {
  const model::Model model = model::load_model("llama2-7b");
  const std::vector<cluster::Cluster> clusters = {cluster::load_cluster("4xdgx-h100")};
  Choices choices;
  choices.global_batch = 256;
  SearchOptions options;
  int asked = 0;
  options.stop = [&] { return ++asked > 10; };
  options.threads = 1;
  const SearchResult result =
      search(model, clusters, cost::Basis(cost::load_stack("megatron")), choices, options);
  EXPECT_FALSE(result.complete);
  EXPECT_LT(result.evaluated + result.pruned, result.space);
  EXPECT_FALSE(result.plans.empty());
}

TEST(Search, RespectsWhatIsFixed) {
  const model::Model model = model::load_model("llama3-70b");
  const std::vector<cluster::Cluster> clusters = {cluster::load_cluster("16xdgx-h100")};
  Choices choices;
  choices.global_batch = 512;
  choices.pp = {4, 8};
  choices.max_tp = 4;
  choices.recompute = {RecomputeChoice::kFull};
  choices.sequence_parallel = {false};
  const SearchResult result =
      search(model, clusters, cost::Basis(cost::load_stack("nemo")), choices, {});
  ASSERT_FALSE(result.plans.empty());
  for (const Candidate& plan : result.plans) {
    EXPECT_TRUE(plan.degrees.pp == 4 || plan.degrees.pp == 8);
    EXPECT_LE(plan.degrees.tp, 4);
    EXPECT_EQ(plan.degrees.recompute, Recompute::kFull);
    EXPECT_EQ(plan.degrees.recompute_blocks, 0);
    EXPECT_FALSE(plan.degrees.sequence_parallel);
  }
}

TEST(Search, SaysWhatLacksLeastWhereNothingFits) {
  const model::Model model = model::load_model("gpt3-175b");
  const std::vector<cluster::Cluster> clusters = {cluster::load_cluster("1xdgx-a100-80")};
  Choices choices;
  choices.global_batch = 64;
  const SearchResult result =
      search(model, clusters, cost::Basis(cost::load_stack("megatron")), choices, {});
  EXPECT_TRUE(result.plans.empty());
  ASSERT_TRUE(result.nearest.has_value());
  EXPECT_GT(result.nearest->prediction.memory.total, result.nearest->prediction.memory.capacity);
  EXPECT_EQ(result.too_much_memory, result.evaluated);
}

}  // namespace
}  // namespace nereus::search::regular_search_test
