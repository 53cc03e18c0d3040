// The checker agrees with a slow second one on plans that were sound before a number was changed.
#include "plan/check_oracle.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "plan/check.hpp"
#include "plan/expand.hpp"
#include "plan/test_plans.hpp"

namespace nereus::plan::check_oracle_test {
namespace {

// Changes one number of a sound plan, mostly a little. Some changes give another sound plan; the
// oracle knows which.
void spoil(Placement& p) {
  LayerRun& run = p.runs[*rc::gen::inRange<std::size_t>(0, p.runs.size())];
  Replicas& r = run.replicas[*rc::gen::inRange<std::size_t>(0, run.replicas.size())];
  StateShare& s = run.state[*rc::gen::inRange<std::size_t>(0, run.state.size())];
  RankRange& range = s.ranks[*rc::gen::inRange<std::size_t>(0, s.ranks.size())];
  int* numbers[] = {&run.first_layer,
                    &run.num_layers,
                    &run.stage,
                    &run.ep,
                    &run.expert_tp,
                    &r.count,
                    &r.first,
                    &r.team_stride,
                    &r.tp,
                    &r.cp,
                    &r.tensor_stride,
                    &r.context_stride,
                    &r.micro_batch,
                    &r.num_micro_batches,
                    &r.last_micro_batch,
                    &r.recompute_layers,
                    &s.cut,
                    &s.first_slice,
                    &s.num_slices,
                    &s.slice_stride,
                    &s.pieces,
                    &range.first,
                    &range.count,
                    &range.stride};
  std::int64_t* wide[] = {&p.global_batch,       &r.first_sample, &r.team_sample_stride,
                          &r.micro_batch_stride, &s.begin,        &s.end};
  const int what = *rc::gen::inRange(0, 40);
  const int delta = testing::pick({-2, -1, 1, 2, 3});
  if (what < 24) {
    *numbers[what] += delta;
  } else if (what < 30) {
    *wide[what - 24] += delta;
  } else if (what == 30) {
    run.state.erase(run.state.begin() + (&s - run.state.data()));
    if (run.state.empty()) run.replicas.clear();
  } else if (what == 31) {
    const StateShare again = s;
    run.state.push_back(again);
  } else if (what == 32) {
    s.peer_copy = !s.peer_copy;
  } else if (what == 33) {
    s.experts = !s.experts;
  } else if (what == 34) {
    s.kind = static_cast<StateKind>((static_cast<int>(s.kind) + 1) % 3);
  } else if (what == 35) {
    const Replicas again = r;
    run.replicas.push_back(again);
  } else if (what == 36) {
    p.schedule = static_cast<Schedule>(*rc::gen::inRange(0, 9));
  } else if (what == 37) {
    p.sequence_parallel = !p.sequence_parallel;
  } else if (what == 38 && p.runs.size() > 1) {
    std::swap(p.runs[0], p.runs[1]);
  } else {
    // Divide a share in two at a random unit: sound, unless the halves are then shifted.
    StateShare upper = s;
    s.end = upper.begin = *rc::gen::inRange<std::int64_t>(s.begin, s.end + 1);
    if (*rc::gen::arbitrary<bool>()) upper.begin += delta;
    run.state.push_back(upper);
  }
}

TEST(Check, AgreesWithTheOracleOnSpoiltPlans) {
  int sound = 0, unsound = 0;
  const bool passed = rc::check("spoilt plans", [&] {
    for (int repeat = 0; repeat < 20; ++repeat) {
      const auto plan = testing::any_valid_plan();
      Placement p = expand(plan.degrees, plan.model);
      const int num_ranks = plan.degrees.num_ranks();
      RC_ASSERT(testing::Oracle(p, plan.model, num_ranks).sound());
      for (int changes = *rc::gen::inRange(1, 4); changes > 0; --changes) {
        if (p.runs.empty() || p.runs[0].state.empty()) break;
        spoil(p);
        const auto errors = check(p, plan.model, plan.cluster);
        const bool expected = testing::Oracle(p, plan.model, num_ranks).sound();
        RC_LOG() << (errors.empty() ? "checker: sound" : to_text(errors[0])) << '\n';
        RC_ASSERT(errors.empty() == expected);
        ++(expected ? sound : unsound);
        if (!expected) break;
      }
    }
  });
  EXPECT_TRUE(passed);
  // Both answers must have been put to the test, however many cases were asked for.
  EXPECT_GT(20 * sound, sound + unsound);
  EXPECT_GT(2 * unsound, sound + unsound);
}

}  // namespace
}  // namespace nereus::plan::check_oracle_test
