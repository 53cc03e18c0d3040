// The pipeline compared with the simulation of its passes: bounds known before the simulation hold.
#include "predict/played.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "predict/predict_testing.hpp"
#include "predict/predictor.hpp"

namespace nereus::cost::played_test {
namespace {

using testing::any_case;
using testing::Case;

// Also of Varuna, which has no general form.
Case any_played_case() {
  while (true) {
    Case c = any_case();
    if (c.degrees.pp == 1 || *rc::gen::inRange(0, 4) != 0) return c;
    c.degrees.schedule = plan::Schedule::kVaruna;
    c.degrees.interleave = 1;
    c.degrees.recompute = plan::Recompute::kFull;
    c.degrees.recompute_blocks = 0;
    if (plan::violated_rules(c.degrees, plan::degree_limits(c.model, c.cluster)) == 0) return c;
  }
}

// Every lower bound that a search is told before the simulation holds, and the last value it is
// told is the prediction.
RC_GTEST_PROP(Played, NoSketchIsAboveThePrediction, ()) {
  const Case c = any_played_case();
  const double step = Predictor(c.model, c.cluster, c.basis, 1).predict(c.degrees).step;
  for (int stop = 0; stop < 3; ++stop) {
    int asked = 0;
    const Predictor::Sketch sketch =
        Predictor(c.model, c.cluster, c.basis, 1).sketch(c.degrees, [&](const Prediction& p) {
          RC_ASSERT(p.step <= step * (1 + 1e-12));
          return asked++ < stop;
        });
    RC_ASSERT(sketch.prediction.step <= step * (1 + 1e-12));
    if (sketch.exact) RC_ASSERT(sketch.prediction.step == step);
  }
}

// The bounds that a search is told for all plans of a family, and for those with a schedule.
RC_GTEST_PROP(Played, NoBoundIsAboveThePrediction, ()) {
  for (int i = 0; i < 20; ++i) {
    const Case c = any_played_case();
    RC_LOG() << testing::describe(c) << "\n";
    Predictor predictor(c.model, c.cluster, c.basis, 1);
    const Prediction p = predictor.predict(c.degrees);
    for (const Predictor::Bound& bound :
         {predictor.bound(c.degrees), predictor.bound_of_schedule(c.degrees)}) {
      RC_ASSERT(bound.step <= p.step * (1 + 1e-12));
      RC_ASSERT(bound.busy <= p.busy * (1 + 1e-12));
    }
  }
}

// A predictor that has seen other plans gives the same result: its cache only saves simulations.
RC_GTEST_PROP(Played, ThePredictionDoesNotDependOnWhatCameBefore, ()) {
  const Case c = any_played_case();
  Predictor used(c.model, c.cluster, c.basis, 1);
  std::vector<plan::Degrees> plans;
  for (int i = 0; i < 12; ++i) {
    plan::Degrees d = c.degrees;
    d.micro_batch = 1 << *rc::gen::inRange(0, 3);
    if (d.schedule != plan::Schedule::kVaruna)
      d.recompute = static_cast<plan::Recompute>(*rc::gen::inRange(0, 3));
    d.sequence_parallel = d.tp > 1 && *rc::gen::arbitrary<bool>();
    d.data_overlap = *rc::gen::arbitrary<bool>();
    d.zero = *rc::gen::inRange(0, 3);
    plans.push_back(d);
    const double step = used.predict(d).step;
    RC_ASSERT(step == Predictor(c.model, c.cluster, c.basis, 1).predict(d).step);
  }
  for (const plan::Degrees& d : plans)
    RC_ASSERT(used.predict(d).step == Predictor(c.model, c.cluster, c.basis, 1).predict(d).step);
}

// Overlapping gradient reductions with passes never makes a step longer, even if all stages are
// equal, for which the closed form without overlap is exact.
RC_GTEST_PROP(Played, OverlapIsNeverSlower, ()) {
  for (int i = 0; i < 50; ++i) {
    Case c = any_played_case();
    if (*rc::gen::arbitrary<bool>()) {
      const int num_layers = 2 * c.degrees.pp * c.degrees.interleave;
      c.model.layers.assign(static_cast<std::size_t>(num_layers), c.model.layers[1]);  // a block
      c.model.tied.clear();
      c.basis.stack.options.stages = StageRule::kEven;
    }
    c.degrees.data_overlap = false;
    const double after = Predictor(c.model, c.cluster, c.basis, 1).predict(c.degrees).step;
    c.degrees.data_overlap = true;
    const double beside = Predictor(c.model, c.cluster, c.basis, 1).predict(c.degrees).step;
    RC_ASSERT(beside <= after * (1 + 1e-12));
  }
}

TEST(Played, TheClosedFormIsTakenAsFarAsItIsNear) {
  const ClosedForm formula{10, 12};
  EXPECT_EQ(near_play(formula, 10.1, kNear, false, false), 10);
  EXPECT_EQ(near_play(formula, 5, kNear, false, false), 5 * (1 + kNear));
  EXPECT_EQ(near_play(formula, 20, kNear, false, false), 20 / (1 + kNear));
  EXPECT_EQ(near_play(formula, 20, kNear, false, true), 12);  // no more than nothing overlapped
  EXPECT_EQ(near_play(formula, 11, 0, false, false), 11);
  EXPECT_EQ(near_play(formula, 5, kNear, true, false),
            10);  // copies take what the play does not show
}

}  // namespace
}  // namespace nereus::cost::played_test
