#include "app/simulate/rank_groups.hpp"

#include <gtest/gtest.h>

#include <set>

#include "app/plan/plan_burst.hpp"
#include "app/predict/predict_plan.hpp"

namespace nereus::app::rank_groups_test {
namespace {

struct Played {
  simulate::SimulatedStep step;
  RankGroups groups;
};

Played play(const ResolvedPlan& plan, const plan::Placement& placement) {
  cost::GeneralPredictor predictor(plan.model, plan.cluster, plan.basis);
  const cost::StepWork work = predictor.work(placement);
  Played out{simulate::simulate_step(work, {}), {}};
  out.groups = rank_groups(work, out.step, predictor.memory_by_rank(placement));
  return out;
}

Played play_regular(int pp) {
  PredictRequest request;
  request.model = {"gpt2"};
  request.cluster = {"2xdgx-a100-80"};
  request.degrees.pp = pp;
  request.degrees.global_batch = 32;
  const ResolvedPlan plan = predict(request).plan;
  return play(plan, cost::expand_for(*plan.degrees, plan.model, plan.basis.stack));
}

Played play_burst(const char* model) {
  PlanRequest request;
  request.model = {model};
  request.cluster = {"2xdgx-a100-80"};
  request.choices.global_batch = 32;
  const BurstAnswer answer = plan_burst(request, {});
  const ResolvedPlan& plan = answer.rows.front().predicted.plan;
  return play(plan, plan.placement);
}

void expect_filled(const Played& own) {
  ASSERT_EQ(own.groups.busy.size(), own.groups.shared.size());
  for (std::size_t g = 0; g < own.groups.shared.size(); ++g) {
    if (!own.groups.shared[g].used) continue;
    double sum = 0;
    std::int64_t last = 0;
    for (const timeline::Slice& slice : own.groups.busy[g]) {
      EXPECT_EQ(slice.lane, static_cast<int>(g));
      EXPECT_GE(slice.start, last);
      last = slice.end;
      sum += static_cast<double>(slice.end - slice.start) * 1e-12;
    }
    for (const simulate::IdleSpan& span : own.groups.shared[g].idle) sum += span.end - span.start;
    EXPECT_NEAR(sum, static_cast<double>(own.step.end) * 1e-12, 1e-9);
  }
}

std::set<timeline::SliceKind> kinds_of(const Played& own, std::size_t group) {
  std::set<timeline::SliceKind> out;
  for (const timeline::Slice& slice : own.groups.busy[group]) out.insert(slice.kind);
  return out;
}

TEST(RankGroups, BusyAndIdleFillTheStep) {
  for (const int pp : {1, 4}) expect_filled(play_regular(pp));
  for (const char* model : {"gpt2", "vgg16"}) expect_filled(play_burst(model));
}

// A plan with the same number of ranks for all layers is simulated by passes, not by layers: the
// picture has the same parts.
TEST(RankGroups, DrawsEveryPartWhereAllRanksDoTheSame) {
  using timeline::SliceKind;
  for (const Played& own : {play_regular(1), play_burst("gpt2")}) {
    ASSERT_EQ(own.groups.shared.size(), 1U);
    EXPECT_FALSE(own.step.layers);
    EXPECT_EQ(kinds_of(own, 0),
              (std::set{SliceKind::kForward, SliceKind::kBackward, SliceKind::kReduce}));
    EXPECT_EQ(own.groups.drawing(own.step, 16).slices, own.groups.busy[0]);
  }
}

}  // namespace
}  // namespace nereus::app::rank_groups_test
