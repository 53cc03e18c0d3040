#include "predict/general/general_predictor.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "plan/check.hpp"
#include "predict/predict_testing.hpp"
#include "predict/predictor.hpp"
#include "predict/stage_classes.hpp"

namespace nereus::cost::general_predictor_test {
namespace {

using testing::any_case;
using testing::Case;

// Parts that are differences of large numbers (launch) carry the rounding of those.
void expect_close(double a, double b, double scale) {
  RC_ASSERT(std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)) + 1e-13 * scale);
}

void expect_agreement(const Prediction& a, const Prediction& b) {
  for (std::size_t i = 0; i < a.parts.size(); ++i) {
    RC_LOG() << to_string(static_cast<Part>(i)) << ": " << a.parts[i] << " " << b.parts[i] << "\n";
    expect_close(a.parts[i], b.parts[i], a.step);
  }
  expect_close(a.step, b.step, 0);
  for (std::size_t i = 0; i < a.memory.parts.size(); ++i) {
    RC_LOG() << to_string(static_cast<MemoryPart>(i)) << ": " << a.memory.parts[i] << " "
             << b.memory.parts[i] << "\n";
    expect_close(a.memory.parts[i], b.memory.parts[i], a.memory.total);
  }
  expect_close(a.memory.total, b.memory.total, 0);
  expect_close(a.memory.first_rank_allocated, b.memory.first_rank_allocated, 0);
  expect_close(a.memory.beyond, b.memory.beyond, 0);
  expect_close(a.memory.beyond_capacity, b.memory.beyond_capacity, 0);
  expect_close(a.memory.capacity, b.memory.capacity, 0);
  expect_close(a.mfu, b.mfu, 0);
  const bool on_the_edge = std::abs(a.memory.total / a.memory.capacity - 1) < 1e-9;
  RC_ASSERT(on_the_edge || a.fits == b.fits);
}

void expect_agreement_of(const Case& c) {
  RC_LOG() << testing::describe(c) << "\n";
  const std::vector<int> starts =
      stage_starts(c.model, c.degrees.pp * c.degrees.interleave, c.basis.stack.options.stages);
  if (std::adjacent_find(starts.begin(), starts.end()) != starts.end()) return;  // an empty stage
  const plan::Placement placement = expand_for(c.degrees, c.model, c.basis.stack);
  RC_ASSERT(plan::check(placement, c.model, c.cluster).empty());
  const Prediction compact = Predictor(c.model, c.cluster, c.basis).predict(c.degrees);
  const Prediction general = predict(placement, c.model, c.cluster, c.basis);
  expect_agreement(compact, general);
}

RC_GTEST_PROP(General, AgreesWithTheCompactForm, ()) {
  for (int i = 0; i < 20; ++i) expect_agreement_of(any_case());
}

RC_GTEST_PROP(General, AgreesWithTheCompactFormOnTables, ()) {
  for (int i = 0; i < 20; ++i) expect_agreement_of(testing::any_dlrm_case());
}

// What the simulator is given ends in the same seconds.
RC_GTEST_PROP(General, StepsWithTablesCloseAlike, ()) {
  const Case c = testing::any_dlrm_case();
  const StepWork compact = Predictor(c.model, c.cluster, c.basis).work(c.degrees);
  const StepWork general = GeneralPredictor(c.model, c.cluster, c.basis)
                               .work(expand_for(c.degrees, c.model, c.basis.stack));
  const auto closing = [](const StepWork& work) {
    return work.closing + work.lanes.front().closing;
  };
  expect_close(closing(compact), closing(general), compact.prediction.step);
}

}  // namespace
}  // namespace nereus::cost::general_predictor_test
