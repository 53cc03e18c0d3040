// Compares the planner's time, the closed form and the simulation of the same plan.
//
// On random graphs all three have the same inputs. The closed form must give the planner's time up
// to rounding, and so must the simulation if forward is half of everything (moves are half in each
// direction). If forward has another share in each layer, the simulation may take longer, because
// branches then wait for each other twice (cost/layer_graph.hpp); it never takes less, and never
// more than all layers one after the other.
//
// On real models plans are converted to placements, so samples and wires are examined rank by rank:
// the planner's moves are bounds (search/burst/problem.hpp), and may be up to twice as expensive.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "cluster/load_cluster.hpp"
#include "cost/kernel_time.hpp"
#include "cost/machine_rates.hpp"
#include "model/read/load_model.hpp"
#include "plan/check.hpp"
#include "plan/expand.hpp"
#include "predict/general/general_predictor.hpp"
#include "search/burst/burst_costs.hpp"
#include "search/burst/burst_front.hpp"
#include "search/burst/burst_placement.hpp"
#include "search/burst/burst_testing.hpp"
#include "simulate/played_layers.hpp"
#include "simulate/step.hpp"
#include "stack/stack_file.hpp"

namespace nereus::burst::agreement_test {
namespace {

// Classes are ranks, one each: the trunk's are 0, 1, ..; a branch's begin at its first rank.
cost::LayerGraph graph_of(const Problem& problem, const BurstPlan& plan,
                          const std::vector<double>& forward) {
  cost::LayerGraph graph;
  const auto count_of = [&](std::size_t i) { return problem.counts[plan.blocks[i].candidate]; };
  int ranks = 0;
  for (std::size_t i = 0; i < plan.blocks.size(); ++i) {
    const BlockPlace& place = plan.blocks[i];
    const double seconds = problem.blocks[i].seconds[place.candidate];
    cost::PlacedLayer layer{
        static_cast<int>(i), {}, forward[i] * seconds, (1 - forward[i]) * seconds};
    for (int r = 0; r < count_of(i); ++r) layer.classes.push_back(place.first_rank + r);
    ranks = std::max(ranks, layer.classes.back() + 1);
    graph.layers.push_back(layer);
  }
  for (int r = 0; r < ranks; ++r) graph.classes.push_back({r});
  for (const Edge& edge : problem.edges) {
    const BlockPlace& from = plan.blocks[edge.from];
    const BlockPlace& to = plan.blocks[edge.to];
    const bool away = from.first_rank != to.first_rank;
    const double seconds =
        away ? move_seconds(problem.away_of(from.candidate, to.candidate), edge.bytes)
        : from.candidate == to.candidate
            ? 0
            : move_seconds(problem.near_of(from.candidate, to.candidate), edge.bytes);
    graph.moves.push_back({edge.from, edge.to, 0.5 * seconds});
  }
  std::stable_sort(graph.moves.begin(), graph.moves.end(),
                   [](const auto& a, const auto& b) { return a.to < b.to; });
  return graph;
}

double in_turn(const cost::LayerGraph& graph) {
  double sum = 0;
  for (const cost::PlacedLayer& own : graph.layers) sum += own.seconds();
  for (const cost::LayerMove& own : graph.moves) sum += 2 * own.each_way;
  return sum;
}

bool has_away(const BurstPlan& plan) {
  for (const BlockPlace& own : plan.blocks)
    if (own.first_rank > 0) return true;
  return false;
}

TEST(BurstAgreement, OfPlannerClosedFormAndPlayOnRandomGraphs) {
  int plans = 0, apart = 0, longer = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const RandomGraph random(seed, 9, seed % 4 != 0);
    const Front front = solve(random.problem);
    Random shares(seed + 1);
    for (const BurstPlan& plan : front.plans) {
      ++plans;
      apart += has_away(plan) ? 1 : 0;
      std::vector<double> forward(plan.blocks.size(), 0.5);
      const cost::LayerGraph even = graph_of(random.problem, plan, forward);
      const double closed = cost::longest_path(even).seconds;
      ASSERT_NEAR(closed, plan.seconds, 1e-9 * plan.seconds) << seed;
      const simulate::PlayedGraph played = simulate::play_layers(even);
      // Whole picoseconds: half of one is lost or won in each layer and move.
      ASSERT_NEAR(static_cast<double>(played.end) * 1e-12, plan.seconds, 1e-9 * plan.seconds)
          << seed;
      for (double& share : forward) share = 0.2 + 0.3 * shares.uniform();
      const cost::LayerGraph uneven = graph_of(random.problem, plan, forward);
      const double end = static_cast<double>(simulate::play_layers(uneven).end) * 1e-12;
      EXPECT_GE(end, plan.seconds * (1 - 1e-9)) << seed;
      EXPECT_LE(end, in_turn(uneven) * (1 + 1e-9)) << seed;
      longer += end > plan.seconds * (1 + 1e-6) ? 1 : 0;
    }
  }
  // The cases that matter were among them.
  EXPECT_GT(plans, 500);
  EXPECT_GT(apart, 50);
  EXPECT_GT(longer, 0);
}

// The front of a model on one node, with sums of gradients free: they are hidden by other rules in
// the planner (per count) and in the prediction (once, behind the backward pass).
struct Modelled {
  Modelled(const std::string& name, const std::string& spec)
      : model(nereus::model::load_model(name)), cluster(cluster::load_cluster(spec)) {
    // Neither the host nor anything that is taken once a step: kernels alone, as the planner.
    basis = basis.in_precision(precision);
    basis.stack.devices.clear();
    for (const char* own :
         {"host_layer", "host_step", "host_micro_batch", "host_collective", "host_fallback"})
      basis.stack.settings[own] = 0;
  }

  Problem problem(int batch) {
    const cost::Machine machine = cost::make_machine(cluster, 0, basis);
    cost::GeneralPredictor predictor(model, cluster, basis);
    std::map<int, std::vector<double>> seconds;
    std::vector<BlockCosts> blocks(static_cast<std::size_t>(model.num_layers()));
    const std::vector<int> counts = powers_of_two(batch, cluster.num_devices());
    for (const int count : counts) {
      plan::Degrees one;
      one.precision = precision;
      one.micro_batch = samples_per_rank(batch, count);
      one.global_batch = one.micro_batch;
      seconds[one.micro_batch] = predictor.layer_seconds(plan::expand(one, model));
    }
    for (std::size_t i = 0; i < blocks.size(); ++i)
      blocks[i].seconds = [seconds, i](int samples) { return seconds.at(samples)[i]; };
    Prices prices;
    prices.sum = [](int, double) { return 0.0; };
    prices.move = [machine](int samples) {
      const double delay = cost::send_seconds(machine.fabric, true, 0);
      const double bytes = cost::send_seconds(machine.fabric, true, 1e9) - delay;
      return MoveCost{2 * delay, 2 * samples * bytes / 1e9};
    };
    std::vector<Edge> edges;
    for (const nereus::model::Edge& edge : nereus::model::all_edges(model))
      edges.push_back({edge.from, edge.to, edge.elements * cost::element_bytes(precision)});
    Problem out = make_problem(blocks, edges, prices, batch, counts);
    out.num_ranks = cluster.num_devices();
    return out;
  }

  model::Model model;
  cluster::Cluster cluster;
  cost::Basis basis{cost::load_stack("generic")};
  cluster::Precision precision = cluster::Precision::kBf16;
};

void expect_agreement(const std::string& name, const std::string& spec, int batch) {
  Modelled own(name, spec);
  const Problem problem = own.problem(batch);
  const Front front = solve(problem);
  ASSERT_FALSE(front.plans.empty());
  cost::GeneralPredictor predictor(own.model, own.cluster, own.basis);
  int apart = 0;
  const std::size_t each = std::max<std::size_t>(1, front.plans.size() / 8);
  for (std::size_t i = 0; i < front.plans.size(); i += each) {
    const BurstPlan& plan = front.plans[i];
    const plan::Placement placement = placement_of(plan, problem.counts, batch, own.precision);
    ASSERT_TRUE(plan::check(placement, own.model, own.cluster).empty());
    const cost::StepWork work = predictor.work(placement);
    if (!work.layers) continue;  // all layers on the same ranks
    apart += has_away(plan) ? 1 : 0;
    const double closed = cost::longest_path(*work.layers).seconds;
    const cost::Prediction& p = work.prediction;
    EXPECT_NEAR(closed,
                p.part(cost::Part::kCompute) + p.part(cost::Part::kLaunch) +
                    p.part(cost::Part::kPipelineComm),
                1e-9 * closed);
    // The planner's moves are bounds: nothing is dearer, and compute is the same.
    EXPECT_LE(closed, plan.seconds * (1 + 1e-6)) << name << " " << i;
    EXPECT_GE(closed, plan.seconds * 0.97) << name << " " << i;
    // Both passes of a branch wait: 5 % at most here.
    const simulate::SimulatedStep step = simulate::simulate_step(work, {});
    const double played = static_cast<double>(step.layers->end) * 1e-12;
    EXPECT_GE(played, closed * (1 - 1e-7)) << name << " " << i;
    EXPECT_LE(played, closed * 1.05) << name << " " << i;
    EXPECT_NEAR(step.step, work.prediction.step, 0.05 * work.prediction.step) << name << " " << i;
  }
  EXPECT_GT(apart, 0) << name;
}

// Batches of half the ranks, so that branches have the others.
TEST(BurstAgreement, OfInceptionWithBranchesApart) {
  expect_agreement("inception-v3", "1xdgx-a100-80", 4);
}
TEST(BurstAgreement, OfResNetWithBranchesApart) {
  expect_agreement("resnet50", "1xdgx-a100-80", 4);
}

}  // namespace
}  // namespace nereus::burst::agreement_test
