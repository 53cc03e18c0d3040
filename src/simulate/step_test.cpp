#include "simulate/step.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>

#include "base/random.hpp"
#include "cluster/load_cluster.hpp"
#include "cost/pipeline_time.hpp"
#include "model/read/load_model.hpp"
#include "plan/check.hpp"
#include "plan/complete.hpp"
#include "plan/rules.hpp"
#include "predict/general/general_predictor.hpp"
#include "predict/predict_testing.hpp"
#include "predict/predictor.hpp"
#include "simulate/shared_links.hpp"
#include "simulate/simulate_testing.hpp"
#include "simulate/step_statistics.hpp"
#include "simulate/step_timeline.hpp"

namespace nereus::simulate::step_test {
namespace {

using cost::testing::Case;
using plan::Schedule;

cost::StepWork work_of(const Case& c) {
  return cost::Predictor(c.model, c.cluster, c.basis, 1).work(c.degrees);
}

// Rounding to picoseconds: of every pass and message in a row.
double slack(const cost::StepWork& work, const SimulatedStep& step) {
  const int stages = work.num_stages();
  return 5e-12 * stages * (step.lanes.front().size.micro_batches + stages);
}

// Only blocks, as many on each stage; of messages any part overlaps, of reductions nothing.
void make_equal(Case& c) {
  model::Model& model = c.model;
  std::vector<int> blocks;
  for (const int kind : model.layers)
    if (model.kinds[kind].role == model::LayerRole::kBlock) blocks.push_back(kind);
  model.layers.assign(
      static_cast<std::size_t>(c.degrees.pp) * static_cast<std::size_t>(c.degrees.interleave) * 2,
      blocks.front());
  model.tied.clear();
  c.basis.stack.options.stages = cost::StageRule::kEven;
  c.basis.stack.settings["pipeline_overlap"] = cost::testing::pick({0.0, 0.0, 0.5, 1.0});
  c.degrees.data_overlap = false;
}

// With equal stages and no overlap of reductions, the simulated step is the predicted one.
// Schedules that split the backward pass have a formula only for F = B = W
// (pipeline/pipeline_play_test.cpp).
RC_GTEST_PROP(Step, EqualsThePredictionOnEqualStages, ()) {
  for (int played = 0; played < 10;) {  // a thousand plans in all
    Case c = cost::testing::any_case();
    make_equal(c);
    if (c.degrees.pp > 1 && cost::splits_backward(c.degrees.schedule)) continue;
    if (plan::violated_rules(c.degrees, plan::degree_limits(c.model, c.cluster)) != 0) continue;
    const cost::StepWork work = work_of(c);
    const SimulatedStep step = simulate_step(work, {});
    RC_ASSERT(std::abs(step.step - work.prediction.step) <=
              1e-9 * work.prediction.step + slack(work, step));
    ++played;
  }
}

// With overlap and unequal stages, over 2,000 plans of all schedules: within 1 % in the mean and
// 5 % at worst. So are those of each schedule, of which 30 and more are drawn.
// bench/run closed_form has the figures over many more, schedule by schedule.
TEST(Step, IsNearThePredictionOverPlansOfAllKinds) {
  Random random(7);
  struct Away {
    int cases = 0;
    double sum = 0;
    double worst = 0;
  };
  std::map<Schedule, Away> away;  // of those with more than one stage
  for (int cases = 0; cases < 2000;) {
    const std::optional<testing::RealPlan> some = testing::real_plan(random);
    if (!some) continue;
    const cost::StepWork work = some->work();
    const double error = std::abs(simulate_step(work, {}).step / work.prediction.step - 1);
    ++cases;
    if (some->degrees.pp == 1) {
      EXPECT_LE(error, 0.01);
      continue;
    }
    Away& own = away[some->degrees.schedule];
    ++own.cases;
    own.sum += error;
    own.worst = std::max(own.worst, error);
  }
  ASSERT_EQ(away.size(), 9u);
  for (const auto& [schedule, own] : away) {
    EXPECT_GE(own.cases, 30) << to_string(schedule);
    EXPECT_LE(own.sum / own.cases, 0.01) << to_string(schedule);
    EXPECT_LE(own.worst, 0.05) << to_string(schedule);
  }
}

// One device per team, each with separate micro-batches of which the last is smaller; state
// replicated, or optimizer state sharded.
plan::Placement uneven_teams(const model::Model& model, int devices, Random& random) {
  plan::Placement placement;
  placement.precision = cluster::Precision::kFp16;
  plan::LayerRun run;
  run.num_layers = model.num_layers();
  for (int rank = 0; rank < devices; ++rank) {
    plan::Replicas team;
    team.first = rank;
    team.micro_batch = 2 + static_cast<int>(random.below(15));
    team.num_micro_batches = 1 + static_cast<int>(random.below(5));
    if (team.num_micro_batches > 1)
      team.last_micro_batch =
          1 + static_cast<int>(random.below(static_cast<std::uint64_t>(team.micro_batch - 1)));
    team.first_sample = placement.global_batch;
    placement.global_batch += team.samples_per_team();
    run.replicas.push_back(team);
  }
  const bool divided = random.below(2) == 0;
  for (const plan::StateKind kind :
       {plan::StateKind::kWeights, plan::StateKind::kGradients, plan::StateKind::kOptimizer}) {
    plan::StateShare share;
    share.kind = kind;
    share.ranks = {{0, devices, 1}};
    if (divided && kind == plan::StateKind::kOptimizer) share.pieces = devices;
    run.state.push_back(share);
  }
  placement.runs = {run};
  return placement;
}

// The reduction hides behind the last micro-batch, not behind one of the others.
TEST(Step, IsThePredictionWhereLastMicroBatchesAreSmaller) {
  Random random(3);
  const auto one_of = [&](const auto& list) { return list[random.below(std::size(list))]; };
  const char* const models[] = {"gpt2", "bert-large", "opt-350m", "gpt2-xl"};
  const char* const clusters[] = {"1xg5.xlarge+1xp3.2xlarge", "2xg5.xlarge+1xg4dn.12xlarge",
                                  "1xp4d.24xlarge+1xg5.48xlarge", "3xp3.2xlarge"};
  const char* const stacks[] = {"megatron", "nemo", "generic"};
  int exposed = 0;  // in which a part of the reduction shows
  for (int i = 0; i < 300; ++i) {
    const model::Model model = model::load_model(one_of(models));
    const cluster::Cluster cluster = cluster::load_cluster(one_of(clusters));
    const cost::Basis basis(cost::builtin_stacks().resolve(one_of(stacks)));
    const plan::Placement placement = uneven_teams(model, cluster.num_devices(), random);
    const std::vector<Error> wrong = plan::check(placement, model, cluster);
    ASSERT_TRUE(wrong.empty()) << wrong.front().message;
    const cost::StepWork work = cost::GeneralPredictor(model, cluster, basis).work(placement);
    const cost::Prediction& predicted = work.prediction;
    exposed += predicted.part(cost::Part::kDataComm) > 0.02 * predicted.step;
    EXPECT_NEAR(simulate_step(work, {}).step, predicted.step, 0.005 * predicted.step) << i;
  }
  EXPECT_GE(exposed, 30);
}

RC_GTEST_PROP(Step, IsNoShorterThanItsBusiestRank, ()) {
  const Case c = cost::testing::any_case();
  const cost::StepWork work = work_of(c);
  const SimulatedStep step = simulate_step(work, {});
  for (const PlayedRank& rank : step.teams.front().played.ranks)
    RC_ASSERT(step.step + slack(work, step) >=
              static_cast<double>(rank.busy) * 1e-12 + work.closing);
  RC_ASSERT(timeline::first_fault(to_timeline(work, step)) == "");
  RC_ASSERT(timeline::first_fault(passes_of(step)) == "");
  RC_ASSERT(step.events > 0);
}

// A regular plan written as a placement is simulated equally.
RC_GTEST_PROP(Step, PlaysAPlacementAsItsDegrees, ()) {
  const Case c = cost::testing::any_case();
  RC_PRE(cost::has_general_form(c.degrees.schedule) || c.degrees.pp == 1);
  RC_PRE(plan::violated_rules(c.degrees, plan::degree_limits(c.model, c.cluster)) == 0);
  const cost::StepWork regular = work_of(c);
  const plan::Placement placement = cost::expand_for(c.degrees, c.model, c.basis.stack);
  const cost::StepWork general =
      cost::GeneralPredictor(c.model, c.cluster, c.basis).work(placement);
  // Where a stack would leave a stage empty, the placement has other stages.
  RC_PRE(std::abs(general.prediction.step / regular.prediction.step - 1) < 1e-9);
  const SimulatedStep a = simulate_step(regular, {});
  const SimulatedStep b = simulate_step(general, {});
  RC_ASSERT(std::abs(a.step - b.step) <= 1e-8 * a.step + 2 * slack(regular, a));
}

RC_GTEST_PROP(Statistics, AddUpToTheStepOnEveryRank, ()) {
  const Case c = cost::testing::any_case();
  const cost::StepWork work = work_of(c);
  const SimulatedStep step = simulate_step(work, {});
  const StepStatistics s = statistics_of(work, step);
  for (const RankStatistics& r : s.ranks) {
    const double sum = r.compute + r.collectives + r.send + r.wait_input + r.wait_gradient +
                       r.reduction + r.wait_others + r.closing;
    RC_ASSERT(std::abs(sum - step.step) <= 1e-9 * step.step + slack(work, step));
    RC_ASSERT(r.compute >= -1e-12 && r.wait_input >= -1e-12 && r.wait_gradient >= -1e-12);
  }
  // The critical path has no holes: it is as long as the step.
  double path = 0;
  for (const double part : s.path.seconds) path += part;
  const double whole =
      step.staggered ? static_cast<double>(step.slowest().end) * 1e-12 + work.closing : step.step;
  RC_ASSERT(path <= whole * (1 + 1e-9) + slack(work, step));
  RC_ASSERT(step.staggered || path >= whole * (1 - 1e-9) - slack(work, step));
}

// --- jitter -------------------------------------------------------------------------------------

cost::StepWork some_work() {
  Case c;
  c.model = model::load_model("llama3-8b");
  c.cluster = cluster::load_cluster("4xdgx-h100");
  c.basis.stack = cost::builtin_stacks().resolve("megatron");
  c.degrees =
      plan::complete_degrees({.tp = 2, .pp = 4, .global_batch = 64}, c.model, c.cluster).degrees;
  return work_of(c);
}

TEST(StepJitter, IsTheSameForTheSameSeed) {
  const cost::StepWork work = some_work();
  StepOptions options;
  options.jitter.compute = parse_distribution("normal:5%");
  options.jitter.seed = 11;
  options.num_steps = 20;
  const SimulatedStep a = simulate_step(work, options);
  EXPECT_EQ(a.steps, simulate_step(work, options).steps);
  options.jitter.seed = 12;
  EXPECT_NE(a.steps, simulate_step(work, options).steps);
  EXPECT_EQ(a.teams.size(), 4u);  // none stands for another
}

TEST(StepJitter, WaitsForTheSlowestTeam) {
  const cost::StepWork work = some_work();
  StepOptions options;
  options.jitter.compute = parse_distribution("normal:10%");
  options.num_steps = 50;
  const SimulatedStep varied = simulate_step(work, options);
  double mean = 0;
  for (const double step : varied.steps) mean += step / 50;
  EXPECT_GT(mean, simulate_step(work, {}).step * 1.005);
}

TEST(StepJitter, UnfoldsOnlyTheTeamOfASlowRank) {
  const cost::StepWork work = some_work();
  StepOptions options;
  options.jitter.slow = {parse_slow_rank("3:2")};  // the second team's first stage
  const SimulatedStep slow = simulate_step(work, options);
  ASSERT_EQ(slow.teams.size(), 2u);
  EXPECT_EQ(slow.teams[0].count + slow.teams[1].count, 4);
  EXPECT_EQ(slow.slowest().team, 1);
  EXPECT_GT(slow.step, simulate_step(work, {}).step * 1.4);
  options.jitter.slow = {parse_slow_rank("99:2")};
  EXPECT_THROW(simulate_step(work, options), Errors);
}

// Folded teams are what they stand for: a jitter that changes nothing plays all of them.
RC_GTEST_PROP(StepJitter, FoldedEqualsUnfolded, ()) {
  const Case c = cost::testing::any_case();
  RC_PRE(c.degrees.num_ranks() <= 64);
  const cost::StepWork work = work_of(c);
  StepOptions unfolded;
  unfolded.jitter.compute = parse_distribution("normal:0%");
  const SimulatedStep a = simulate_step(work, {});
  const SimulatedStep b = simulate_step(work, unfolded);
  RC_ASSERT(a.step == b.step);
  RC_ASSERT(a.events_represented == b.events_represented);
  RC_ASSERT(b.teams.size() >= a.teams.size());
}

// --- shared links -------------------------------------------------------------------------------

// Traffic that meets is never quicker than apart, nor a step than its busiest stream.
RC_GTEST_PROP(SharedLinks, MeetingNeverHelps, ()) {
  const Case c = cost::testing::any_case();
  RC_PRE(static_cast<std::int64_t>(c.degrees.global_batch) * c.degrees.pp < 4096);
  const cost::StepWork work = work_of(c);
  const SimulatedStep step = simulate_step(work, {});
  const SharedLinksStep shared = play_on_shared_links(work, step);
  RC_ASSERT(shared.step >= shared.apart * (1 - 1e-9) - slack(work, step));
  for (const PlayedRank& rank : step.teams.front().played.ranks)
    RC_ASSERT(shared.apart * (1 + 1e-9) + 1e-11 >=
              static_cast<double>(rank.busy) * 1e-12 + work.closing);
}

// Two implementations, one step: without messages and reduction both players say the same.
RC_GTEST_PROP(SharedLinks, AgreeWithThePipelinePlayerWhereNothingTravels, ()) {
  const Case c = cost::testing::any_case();
  RC_PRE(c.degrees.schedule != Schedule::kVaruna);
  RC_PRE(static_cast<std::int64_t>(c.degrees.global_batch) * c.degrees.pp < 4096);
  cost::StepWork work = work_of(c);
  for (cost::LaneWork& lane : work.lanes) std::fill(lane.send.begin(), lane.send.end(), 0.0);
  std::fill(work.reduce.begin(), work.reduce.end(), 0.0);
  const SimulatedStep step = simulate_step(work, {});
  const SharedLinksStep shared = play_on_shared_links(work, step);
  RC_ASSERT(std::abs(shared.apart - step.step) <= 1e-9 * step.step + 4 * slack(work, step));
}

}  // namespace
}  // namespace nereus::simulate::step_test
