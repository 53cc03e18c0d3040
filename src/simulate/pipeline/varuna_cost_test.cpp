// How far Varuna's closed form (cost/pipeline_time.hpp) is from the simulation of its pipeline.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "cost/pipeline_time.hpp"
#include "plan/rules.hpp"
#include "predict/predict_testing.hpp"
#include "predict/predictor.hpp"
#include "simulate/pipeline/varuna.hpp"
#include "simulate/step.hpp"
#include "simulate/step_timeline.hpp"

namespace nereus::simulate::varuna_cost_test {
namespace {

double closed_form(const PipelineSize& size, const PassTimes& times) {
  std::vector<cost::StagePace> stages;
  for (int s = 0; s < size.depth; ++s) {
    const StageTimes& own = times.stages[s];
    const auto once = static_cast<double>(own.forward + own.input + own.weight);
    const double again = s + 1 < size.depth ? static_cast<double>(own.recompute) : 0;
    stages.push_back({once + again, size.micro_batches * (once + again), 1, once, 0});
  }
  const cost::PipelineTime time =
      cost::pipeline_time(stages, {plan::Schedule::kVaruna, size.depth, 1});
  return stages[time.slowest].all + time.bubble;
}

// Equal stages, B + W = 2 F, R = F, the released order: exact or up to two F too long.
TEST(VarunaCost, EqualStagesAreWithinTwoForwardPasses) {
  int exact = 0;
  int all = 0;
  for (int p = 2; p <= 16; ++p)
    for (int m = p; m <= 5 * p; ++m) {
      const PipelineSize size{p, 1, m};
      const PassTimes times = equal_times(size, {10, 10, 10, 0, 0, 10});
      PipelinePlayer player(schedule::varuna_order(size), size);
      const double gap = closed_form(size, times) - static_cast<double>(player.play(times).end);
      EXPECT_TRUE(gap == 0 || gap == 10 || gap == 20) << p << " x " << m << " " << gap;
      exact += gap == 0 ? 1 : 0;
      ++all;
    }
  EXPECT_GT(exact, all / 4);
}

TEST(VarunaCost, HoldsAsManyAsThePlay) {
  for (int p = 2; p <= 12; ++p)
    for (const int m : {3 * p, 5 * p}) {
      const PipelineSize size{p, 1, m};
      PipelinePlayer player(schedule::varuna_order(size), size);
      const PlayedPipeline& played = player.play(equal_times(size, {1, 1, 1, 0, 0, 1}));
      for (int s = 0; s < p; ++s)
        EXPECT_EQ(played.ranks[s].peak, cost::in_flight({plan::Schedule::kVaruna, p, 1}, s, m));
    }
}

// Stages that differ by up to a half, any share of backward and recompute.
RC_GTEST_PROP(VarunaCost, RandomStagesAreNear, ()) {
  const PipelineSize size{*rc::gen::inRange(2, 13), 1, *rc::gen::inRange(2, 60)};
  RC_PRE(size.micro_batches >= size.depth);
  const int backward = *rc::gen::inRange(100, 300);  // % of forward
  const int again = *rc::gen::inRange(50, 101);
  PassTimes times;
  for (int s = 0; s < size.depth; ++s) {
    const Picoseconds f = *rc::gen::inRange(1000, 1500);
    times.stages.push_back({f, f * backward / 100, 0, 0, 0, f * again / 100});
  }
  const double form = closed_form(size, times);
  VarunaPlayer all(size);
  const auto longest = static_cast<double>(all.play(times).played.end);
  RC_ASSERT(longest <= form + 1);
  RC_ASSERT(form <= 1.2 * longest);
  VarunaPlayer within(size, RecomputeStart::kEarly, PullAhead::kWithinPeak);
  const auto played = static_cast<double>(within.play(times).played.end);
  RC_ASSERT(played <= 1.04 * form);
  RC_ASSERT(form <= 1.25 * played);
}

// A plan with this schedule, predicted and simulated: its passes are the predicted work.
RC_GTEST_PROP(VarunaCost, APlanIsPlayedAsItIsPredicted, ()) {
  cost::testing::Case c = cost::testing::any_case();
  c.degrees.schedule = plan::Schedule::kVaruna;
  c.degrees.interleave = 1;
  c.degrees.recompute = plan::Recompute::kFull;
  c.degrees.recompute_blocks = 0;
  c.degrees.offload = {};
  RC_PRE(c.degrees.pp > 1);
  RC_PRE(plan::violated_rules(c.degrees, plan::degree_limits(c.model, c.cluster)) == 0);
  const cost::StepWork work = cost::Predictor(c.model, c.cluster, c.basis, 1).work(c.degrees);
  const SimulatedStep step = simulate_step(work, {});
  RC_ASSERT(timeline::first_fault(to_timeline(work, step)).empty());
  // What the deciding stage computes is on one of the ranks: no step is shorter.
  const PlayedPipeline& played = step.teams.front().played;
  double busiest = 0;
  for (const PlayedRank& rank : played.ranks)
    busiest = std::max(busiest, static_cast<double>(rank.busy) * 1e-12);
  double computed = 0;
  for (const cost::PassSeconds& passes : work.lanes.front().passes)
    computed = std::max(computed, passes.total() * work.lanes.front().num_micro_batches);
  RC_ASSERT(busiest >= computed * (1 - 1e-9) - 1e-9);
  // The last stage recomputes nothing.
  const auto again = static_cast<std::size_t>(Pass::kRecompute);
  RC_ASSERT(played.ranks.back().busy_in[again] == 0);
  RC_ASSERT(played.ranks.back().peak == 1);
}

}  // namespace
}  // namespace nereus::simulate::varuna_cost_test
