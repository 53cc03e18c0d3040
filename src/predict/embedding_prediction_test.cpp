// Predictions of models with embedding tables.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "predict/predict_testing.hpp"
#include "predict/predictor.hpp"

namespace nereus::cost::embedding_prediction_test {
namespace {

using testing::pick;

RC_GTEST_PROP(EmbeddingProperties, MoreOfAMachineIsNeverSlower, ()) {
  testing::Case c = testing::any_dlrm_case();
  RC_LOG() << testing::describe(c) << "\n";
  const Prediction before = Predictor(c.model, c.cluster, c.basis).predict(c.degrees);
  const double factor = pick({1.01, 2.0, 50.0});
  cluster::Node& node = c.cluster.groups.front().node;
  const int what = *rc::gen::inRange(0, 5);
  if (what == 0) node.inside.bandwidth *= factor;
  if (what == 1) {
    node.network *= factor;
    for (cluster::NetworkLevel& level : c.cluster.levels) level.bandwidth *= factor;
  }
  if (what == 2) node.device.memory_bandwidth *= factor;
  if (what == 3)
    for (FlopsPerSecond& peak : node.device.peak) peak *= factor;
  if (what == 4)
    for (cluster::MemoryTier& tier : node.tiers) tier.bandwidth *= factor;
  const Prediction after = Predictor(c.model, c.cluster, c.basis).predict(c.degrees);
  RC_ASSERT(after.step <= before.step * (1 + 1e-12));
  RC_ASSERT(after.memory.total == before.memory.total);
}

RC_GTEST_PROP(EmbeddingProperties, BoundsAreBelowAndOffloadIsNotQuicker, ()) {
  testing::Case c = testing::any_dlrm_case();
  c.basis.stack.settings["memory_pressure"] =
      0;  // a full device is slower, and offload relieves it
  Predictor predictor(c.model, c.cluster, c.basis);
  const Prediction p = predictor.predict(c.degrees);
  RC_ASSERT(predictor.bound(c.degrees).step <= p.step * (1 + 1e-12));
  RC_ASSERT(predictor.bound_of_schedule(c.degrees).step <= p.step * (1 + 1e-12));
  double seconds = 0;
  for (const double part : p.parts) {
    RC_ASSERT(part >= -1e-12 * p.step);
    seconds += part;
  }
  RC_ASSERT(std::abs(seconds - p.step) <= 1e-12 * p.step);
  c.degrees.offload = {};
  const Prediction near = predictor.predict(c.degrees);
  RC_LOG() << testing::describe(c) << "\n";
  for (std::size_t i = 0; i < p.parts.size(); ++i)
    RC_LOG() << to_string(static_cast<Part>(i)) << ": " << p.parts[i] << " " << near.parts[i]
             << "\n";
  RC_ASSERT(near.step <= p.step * (1 + 1e-12));
}

}  // namespace
}  // namespace nereus::cost::embedding_prediction_test
