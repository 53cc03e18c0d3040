#include "predict/predictor.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>

#include "predict/predict_testing.hpp"

namespace nereus::cost::predictor_test {
namespace {

using testing::any_case;
using testing::between;
using testing::Case;
using testing::pick;

Prediction predict(const Case& c) {
  return Predictor(c.model, c.cluster, c.basis).predict(c.degrees);
}

void expect_sound(const Prediction& p) {
  RC_ASSERT(std::isfinite(p.step) && p.step > 0);
  RC_ASSERT(std::isfinite(p.memory.total) && p.memory.total > 0);
  double seconds = 0;
  for (std::size_t i = 0; i < p.parts.size(); ++i) {
    RC_LOG() << to_string(static_cast<Part>(i)) << ": " << p.parts[i] << "\n";
    RC_ASSERT(p.parts[i] >= -1e-12 * p.step);
    seconds += p.parts[i];
  }
  RC_ASSERT(std::abs(seconds - p.step) <= 1e-12 * p.step);
  double bytes = 0;
  for (const double part : p.memory.parts) {
    RC_ASSERT(part >= 0);
    bytes += part;
  }
  RC_ASSERT(std::abs(bytes - p.memory.total) <= 1e-12 * p.memory.total);
  RC_ASSERT(p.mfu > 0);
}

// --- what holds for every plan ------------------------------------------------------------------

RC_GTEST_PROP(Predict, PartsSumToTheirTotals, ()) {
  const Case c = any_case();
  RC_LOG() << testing::describe(c) << "\n";
  const Prediction p = predict(c);
  expect_sound(p);
  RC_ASSERT(p.fits ==
            (p.memory.total <= p.memory.capacity && p.memory.beyond <= p.memory.beyond_capacity));
}

// Tables of runs contain plans that cannot be built; they are infeasible, and must not crash.
RC_GTEST_PROP(Predict, UnbuildablePlansDoNotCrash, ()) {
  Case c;
  c.model = testing::any_transformer();
  c.basis.stack = testing::any_stack();
  c.degrees = testing::any_degrees(true);
  c.degrees.global_batch = *rc::gen::inRange(1, 100);
  c.degrees.pp = *rc::gen::inRange(1, 40);
  c.degrees.zero_group = *rc::gen::inRange(0, 20);
  c.cluster = testing::any_cluster(48);
  const Prediction p = predict(c);
  RC_ASSERT(std::isfinite(p.step) && std::isfinite(p.memory.total));
}

RC_GTEST_PROP(Predict, DoesNotDependOnWhatWasAskedBefore, ()) {
  const Case c = any_case();
  Predictor fresh(c.model, c.cluster, c.basis);
  Predictor used(c.model, c.cluster, c.basis, 1);  // has to grow
  for (int i = 0; i < 20; ++i) used.predict(testing::any_degrees(false));
  const Prediction a = fresh.predict(c.degrees);
  const Prediction b = used.predict(c.degrees);
  RC_ASSERT(a.parts == b.parts);
  RC_ASSERT(a.memory.parts == b.memory.parts);
}

// --- more is never slower -----------------------------------------------------------------------

using Improve = std::function<void(cluster::Cluster&, double)>;

void expect_no_slower_once(const Improve& improve) {
  Case c = any_case();
  RC_LOG() << testing::describe(c) << "\n";
  const Prediction before = predict(c);
  const double factor = pick({1.0 + 1e-6, 1.01, between(1, 4), 100.0});
  improve(c.cluster, factor);
  const Prediction after = predict(c);
  RC_LOG() << "factor " << factor << ": " << before.step << " -> " << after.step << "\n";
  for (std::size_t i = 0; i < before.parts.size(); ++i)
    RC_LOG() << to_string(static_cast<Part>(i)) << ": " << before.parts[i] << " -> "
             << after.parts[i] << "\n";
  RC_ASSERT(after.step <= before.step * (1 + 1e-12));
}

// A prediction takes microseconds: many to a case.
void expect_no_slower(const Improve& improve) {
  for (int i = 0; i < 20; ++i) expect_no_slower_once(improve);
}

RC_GTEST_PROP(MoreIsNeverSlower, LinkBandwidth, ()) {
  expect_no_slower([](cluster::Cluster& cluster, double factor) {
    cluster.groups.front().node.inside.bandwidth *= factor;
  });
}

RC_GTEST_PROP(MoreIsNeverSlower, NetworkBandwidth, ()) {
  expect_no_slower([](cluster::Cluster& cluster, double factor) {
    cluster.groups.front().node.network *= factor;
    for (cluster::NetworkLevel& level : cluster.levels) level.bandwidth *= factor;
  });
}

RC_GTEST_PROP(MoreIsNeverSlower, MemoryBandwidth, ()) {
  expect_no_slower([](cluster::Cluster& cluster, double factor) {
    cluster.groups.front().node.device.memory_bandwidth *= factor;
  });
}

RC_GTEST_PROP(MoreIsNeverSlower, FlopsPerSecond, ()) {
  expect_no_slower([](cluster::Cluster& cluster, double factor) {
    for (FlopsPerSecond& peak : cluster.groups.front().node.device.peak) peak *= factor;
  });
}

RC_GTEST_PROP(MoreIsNeverSlower, HostBandwidth, ()) {
  expect_no_slower([](cluster::Cluster& cluster, double factor) {
    for (cluster::MemoryTier& tier : cluster.groups.front().node.tiers) tier.bandwidth *= factor;
  });
}

RC_GTEST_PROP(MoreIsNeverSlower, LowerLatency, ()) {
  expect_no_slower([](cluster::Cluster& cluster, double factor) {
    cluster.groups.front().node.inside.latency /= factor;
    cluster.groups.front().node.network_latency /= factor;
  });
}

// --- memory -------------------------------------------------------------------------------------

RC_GTEST_PROP(PredictMemory, GrowsWithTheMicroBatch, ()) {
  Case c = any_case();
  RC_LOG() << testing::describe(c) << "\n";
  const Prediction before = predict(c);
  const int more = *rc::gen::inRange(2, 5);
  c.degrees.micro_batch *= more;
  c.degrees.global_batch *= more;  // as many micro-batches as before
  const Prediction after = predict(c);
  RC_ASSERT(after.memory.total >= before.memory.total);
  RC_ASSERT(after.memory.beyond >= before.memory.beyond);
}

// More ZeRO, more recompute, more offload: never more memory on the device.
RC_GTEST_PROP(PredictMemory, ShrinksWithWhatSavesIt, ()) {
  Case c = any_case();
  c.degrees.zero_group = 0;
  c.basis.stack.settings["buffer_bytes"] = 0;
  const Prediction before = predict(c);
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      if (c.degrees.zero >= 2) return;  // ZeRO-3 trades weights for gather buffers
      ++c.degrees.zero;
      break;
    case 1:
      if (c.cluster.groups.front().node.tiers.empty()) return;
      c.degrees.offload.optimizer = 1;
      break;
    case 2:
      if (c.cluster.groups.front().node.tiers.empty()) return;
      c.degrees.offload.activations = 1;
      break;
  }
  const Prediction after = predict(c);
  RC_ASSERT(after.memory.total <= before.memory.total * (1 + 1e-12));
}

// The basis of the search over offloads: with more of everything in one tier, no step is shorter
// (except for the cost of a full device), no device holds more, and no tier holds less.
RC_GTEST_PROP(Offload, OfMoreIsNeverQuicker, ()) {
  for (int i = 0; i < 10; ++i) {
    Case c = any_case();
    const std::vector<cluster::MemoryTier>& tiers = c.cluster.groups.front().node.tiers;
    if (tiers.empty()) continue;
    c.basis.stack.settings["memory_pressure"] = c.basis.stack.settings["transfer_stall"] = 0;
    const auto more_than = [](double share) { return *rc::gen::inRange(int(8 * share), 9) / 8.0; };
    plan::Offload& offload = c.degrees.offload;
    offload = {more_than(0), more_than(0), more_than(0),
               *plan::parse_tier((*rc::gen::elementOf(tiers)).name)};
    if (c.degrees.pp > 1 && *rc::gen::inRange(0, 4) == 0) {  // has no general form
      c.degrees.schedule = plan::Schedule::kVaruna;
      c.degrees.interleave = 1;
      c.degrees.recompute = plan::Recompute::kFull;
      c.degrees.recompute_blocks = 0;
    }
    RC_LOG() << testing::describe(c) << "\n";
    const Prediction less = predict(c);
    offload = {more_than(offload.weights), more_than(offload.optimizer),
               more_than(offload.activations), offload.tier};
    const Prediction more = predict(c);
    RC_ASSERT(more.step >= less.step * (1 - 1e-12));
    RC_ASSERT(more.memory.total <= less.memory.total * (1 + 1e-12));
    RC_ASSERT(more.memory.beyond >= less.memory.beyond * (1 - 1e-12));
  }
}

}  // namespace
}  // namespace nereus::cost::predictor_test
