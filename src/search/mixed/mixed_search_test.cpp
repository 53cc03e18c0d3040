#include "search/mixed/mixed_search.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "base/parallel.hpp"
#include "plan/check.hpp"
#include "stack/stack_file.hpp"

namespace nereus::mixed::mixed_search_test {
namespace {

using plan::Recompute;

model::Model tiny_model(int layers) {
  model::TransformerShape shape;
  shape.name = "tiny";
  shape.layers = layers;
  shape.hidden = 1024;
  shape.heads = 8;
  shape.kv_heads = 8;
  shape.ffn = 4096;
  shape.vocab = 4000;
  shape.seq = 512;
  return model::build_transformer(shape);
}

cluster::NodeGroup nodes(int count, double peak, double memory, double network) {
  cluster::NodeGroup group;
  group.count = count;
  group.node.name = "node";
  group.node.num_devices = 1;
  group.node.network = BytesPerSecond{network};
  group.node.network_latency = Seconds{1e-5};
  group.node.device.name = group.node.device.short_name = "X1";
  group.node.device.memory = Bytes{memory};
  group.node.device.memory_bandwidth = BytesPerSecond{1e12};
  group.node.device.peak.fill(FlopsPerSecond{peak});
  group.node.tiers.push_back({"host", Bytes{64e9}, BytesPerSecond{1e10}, Seconds{}});
  return group;
}

struct Problem {
  model::Model model;
  cluster::Cluster cluster;
  MixedOptions options;
};

// Two or three kinds, up to four devices, memory that does not bind.
Problem any_problem() {
  Problem p{tiny_model(*rc::gen::inRange(1, 4)), {}, {}};
  p.cluster.name = "test";
  int devices = 0;
  const int kinds = *rc::gen::inRange(2, 4);
  for (int k = 0; k < kinds; ++k) {
    const int count = std::max(1, std::min(*rc::gen::inRange(1, 3), 4 - devices - (kinds - 1 - k)));
    devices += count;
    const double peak = *rc::gen::elementOf(std::vector<double>{1e13, 2.5e13, 6e13, 1e14});
    p.cluster.groups.push_back(
        nodes(count, peak, 80e9, *rc::gen::elementOf(std::vector<double>{1e9, 1e10, 1e11})));
  }
  p.options.global_batch = *rc::gen::inRange(1, 6);
  p.options.tensor_degrees = {1};
  p.options.micro_batches = {1, 2, 3, 4, 5};
  p.options.recompute = {Recompute::kNone};
  p.options.zero = {0, 1, 2, 3};
  return p;
}

const cost::Basis& basis() {
  static const cost::Basis known(cost::load_stack("generic"));
  return known;
}

plan::Placement like(const Problem& p) {
  plan::Placement out;
  out.global_batch = p.options.global_batch;
  out.precision = p.options.precision;
  return out;
}

// Every number of samples for every device of every subset, in micro-batches of every size.
double best_flat_by_force(const Problem& p) {
  Machines machines(p.model, p.cluster, basis(), like(p));
  double best = std::numeric_limits<double>::infinity();
  std::vector<int> counts;
  for (const Group& group : machines.groups()) counts.push_back(group.count);
  std::vector<int> uses(counts.size(), 0);
  const std::function<void(std::size_t)> subsets = [&](std::size_t g) {
    if (g < counts.size()) {
      for (uses[g] = 0; uses[g] <= counts[g]; ++uses[g]) subsets(g + 1);
      return;
    }
    std::vector<int> group_of;
    for (std::size_t i = 0; i < uses.size(); ++i)
      group_of.insert(group_of.end(), static_cast<std::size_t>(uses[i]), static_cast<int>(i));
    if (group_of.empty()) return;
    std::vector<TeamShare> teams(group_of.size());
    const std::function<void(std::size_t, int)> samples = [&](std::size_t i, int left) {
      if (i == teams.size()) {
        if (left > 0) return;
        for (const int zero : p.options.zero)
          best = std::min(best, machines.predictor()
                                    .predict(flat_placement(
                                        machines, {1, Recompute::kNone, 0, zero, uses}, teams))
                                    .step);
        return;
      }
      for (int s = 0; s <= left; ++s)
        for (int m = 1; m <= std::max(1, s); ++m) {
          teams[i] = {group_of[i], s, m, 1 / static_cast<double>(teams.size())};
          samples(i + 1, left - s);
        }
    };
    samples(0, p.options.global_batch);
  };
  subsets(0);
  return best;
}

RC_GTEST_PROP(Mixed, DataParallelIsWhatBruteForceFinds, ()) {
  for (int i = 0; i < 3; ++i) {  // hundreds of cases at rapidcheck's usual number
    Problem p = any_problem();
    p.options.pipelines = false;
    const MixedResult found = search(p.model, p.cluster, basis(), p.options);
    RC_ASSERT(!found.plans.empty());
    const double force = best_flat_by_force(p);
    RC_LOG() << "found " << found.plans.front().prediction.step << " force " << force << "\n";
    RC_ASSERT(found.plans.front().prediction.step <= force * (1 + 1e-9));
    RC_ASSERT(found.plans.front().prediction.step >= force * (1 - 1e-9));
    RC_ASSERT(found.bound <= force);
  }
}

// Every order of devices' groups and every division of layers, one team a stage.
RC_GTEST_PROP(Mixed, LayersAreDividedAsBruteForceDoes, ()) {
  const int stages = *rc::gen::inRange(1, 5), layers = *rc::gen::inRange(stages, 10);
  std::vector<std::vector<double>> seconds(static_cast<std::size_t>(stages));
  std::vector<const std::vector<double>*> views;
  std::vector<int> limits;
  for (auto& own : seconds) {
    for (int l = 0; l < layers; ++l) own.push_back(*rc::gen::inRange(1, 50));
    views.push_back(&own);
    limits.push_back(*rc::gen::inRange(1, layers + 1));
  }
  double best = std::numeric_limits<double>::infinity();
  const std::function<void(std::size_t, int, double)> cut = [&](std::size_t s, int from,
                                                                double slowest) {
    if (s == seconds.size()) {
      if (from == layers) best = std::min(best, slowest);
      return;
    }
    double sum = 0;
    for (int to = from + 1; to <= layers && to - from <= limits[s]; ++to) {
      sum += seconds[s][to - 1];
      cut(s + 1, to, std::max(slowest, sum));
    }
  };
  cut(0, 0, 0);
  const std::vector<int> starts = divide_layers(views, limits);
  RC_ASSERT(starts.empty() == (best == std::numeric_limits<double>::infinity()));
  if (starts.empty()) return;
  double slowest = 0;
  for (std::size_t s = 0; s < seconds.size(); ++s) {
    RC_ASSERT(starts[s + 1] - starts[s] >= 1);
    RC_ASSERT(starts[s + 1] - starts[s] <= limits[s]);
    slowest = std::max(slowest, std::accumulate(seconds[s].begin() + starts[s],
                                                seconds[s].begin() + starts[s + 1], 0.0));
  }
  RC_ASSERT(slowest == best);
}

// What a candidate is cut by is never above what it would have taken.
RC_GTEST_PROP(Mixed, BoundsAreNeverAboveTheStep, ()) {
  Problem p = any_problem();
  p.options.global_batch = *rc::gen::inRange(4, 24);
  Machines machines(p.model, p.cluster, basis(), like(p));
  FlatManner manner;
  manner.zero = *rc::gen::inRange(0, 4);
  for (const Group& group : machines.groups())
    manner.uses.push_back(*rc::gen::inRange(0, group.count + 1));
  const auto found = best_flat(machines, manner, 1);
  if (!found) return;
  const double step = machines.predictor().predict(*found).step;
  RC_ASSERT(flat_bound(machines, manner) <= step * (1 + 1e-9));
  const auto computing = found->runs.front().replicas;
  int teams = 0, all = 0;
  for (const plan::Replicas& r : computing) teams += r.count;
  for (const int n : manner.uses) all += n;
  // Of copies, one that computes nothing is not there.
  if (teams < all) return;
  RC_ASSERT(sent_bound(machines, manner) <= step * (1 + 1e-9));
}

RC_GTEST_PROP(Mixed, PlansPassTheCheckerAndFit, ()) {
  Problem p = any_problem();
  p.options.zero = {};
  p.options.recompute = {};
  for (cluster::NodeGroup& group : p.cluster.groups)
    group.node.device.memory = Bytes{*rc::gen::inRange(8, 24) * 1e8};
  const MixedResult found = search(p.model, p.cluster, basis(), p.options);
  for (const MixedPlan& plan : found.plans) {
    RC_ASSERT(plan::check(plan.placement, p.model, p.cluster).empty());
    RC_ASSERT(plan.prediction.fits);
    RC_ASSERT(plan.prediction.step >= found.bound * (1 - 1e-9));
  }
  for (const MixedPlan& baseline : found.baselines)
    RC_ASSERT(found.plans.front().prediction.step <= baseline.prediction.step);
}

RC_GTEST_PROP(Mixed, ADeviceMoreIsNeverSlower, ()) {
  Problem p = any_problem();
  const double before =
      search(p.model, p.cluster, basis(), p.options).plans.front().prediction.step;
  const auto which =
      static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(p.cluster.groups.size())));
  ++p.cluster.groups[which].count;
  const double after = search(p.model, p.cluster, basis(), p.options).plans.front().prediction.step;
  RC_ASSERT(after <= before * (1 + 1e-9));
}

RC_GTEST_PROP(Mixed, NamesOfRanksDoNotMatter, ()) {
  Problem p = any_problem();
  const double one = search(p.model, p.cluster, basis(), p.options).plans.front().prediction.step;
  std::reverse(p.cluster.groups.begin(), p.cluster.groups.end());
  const double other = search(p.model, p.cluster, basis(), p.options).plans.front().prediction.step;
  RC_ASSERT(std::abs(one - other) <= 1e-9 * one);
}

// Also what was counted on the way.
RC_GTEST_PROP(Mixed, ThreadsDoNotMatter, ()) {
  const Problem p = any_problem();
  const MixedResult many = search(p.model, p.cluster, basis(), p.options);
  const ThreadLimit limit(1);
  const MixedResult one = search(p.model, p.cluster, basis(), p.options);
  RC_ASSERT(one.plans.size() == many.plans.size());
  for (std::size_t i = 0; i < one.plans.size(); ++i) {
    RC_ASSERT(one.plans[i].family == many.plans[i].family);
    RC_ASSERT(one.plans[i].placement == many.plans[i].placement);
  }
  RC_ASSERT(one.evaluated == many.evaluated);
  RC_ASSERT(one.pruned == many.pruned);
  RC_ASSERT(one.too_much_memory == many.too_much_memory);
}

TEST(MixedSearch, ALimitKeepsTheBestThatIsWithinIt) {
  cluster::Cluster cluster;
  cluster.name = "test";
  cluster.groups = {nodes(2, 1e14, 4e10, 1e10), nodes(2, 3e13, 4e10, 1e10)};
  const model::Model model = tiny_model(4);
  const cost::Basis on_megatron(cost::load_stack("megatron"));
  MixedOptions options;
  options.global_batch = 16;
  const MixedResult free = search(model, cluster, on_megatron, options);
  ASSERT_FALSE(free.plans.empty());
  const double best = free.plans.front().prediction.step;
  EXPECT_LE(least_step(model, cluster, on_megatron, options), best);
  EXPECT_EQ(least_step(model, cluster, on_megatron, options), free.bound);
  options.limit = best * 1.001;
  const MixedResult within = search(model, cluster, on_megatron, options);
  ASSERT_FALSE(within.plans.empty());
  EXPECT_LE(within.plans.front().prediction.step, options.limit);
  EXPECT_LT(within.evaluated, free.evaluated);
  options.limit = free.bound * 0.5;
  EXPECT_TRUE(search(model, cluster, on_megatron, options).plans.empty());
}

}  // namespace
}  // namespace nereus::mixed::mixed_search_test
