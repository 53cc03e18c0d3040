// Predictions from layers that were measured.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <type_traits>

#include "cost/measured_testing.hpp"
#include "model/read/load_model.hpp"
#include "predict/general/general_predictor.hpp"
#include "predict/predict_testing.hpp"
#include "predict/predictor.hpp"
#include "predict/stage_classes.hpp"

namespace nereus::cost::measured_prediction_test {
namespace {

using cluster::Precision;
using profile::MeasuredLayer;
using testing::Case;
using testing::opt_profile;
using testing::plain_cluster;

plan::Degrees one_rank(int micro_batch) {
  plan::Degrees d;
  d.precision = Precision::kFp32;
  d.micro_batch = micro_batch;
  d.global_batch = 4 * micro_batch;
  d.dp = 1;
  return d;
}

Basis plain_basis(const profile::Profile& p, const model::Model& model) {
  Basis basis(builtin_stacks().resolve("megatron"));
  basis.layers =
      std::make_shared<const MeasuredLayers>(match_layers({{p, "p.json"}}, model, plain_cluster()));
  return basis;
}

// Passing only the stack on, which would lose measurements, must not compile.
TEST(Measured, PredictorsTakeABasisAndNoStack) {
  static_assert(!std::is_constructible_v<Predictor, const model::Model&, const cluster::Cluster&,
                                         const Stack&>);
  static_assert(!std::is_constructible_v<GeneralPredictor, const model::Model&,
                                         const cluster::Cluster&, const Stack&>);
  EXPECT_TRUE((std::is_constructible_v<GeneralPredictor, const model::Model&,
                                       const cluster::Cluster&, const Basis&>));
}

TEST(Measured, ComputeIsWhatWasMeasured) {
  const model::Model model = model::load_model("opt-350m");
  cluster::Cluster cluster = plain_cluster();
  const Basis basis = plain_basis(opt_profile(), model);
  Predictor predictor(model, cluster, basis, 8);
  const auto layers = [](double embedding, double block, double head) {
    return 3 * (embedding + 24 * block + head);  // backward is twice forward
  };
  const auto compute = [&](int samples) {
    const Prediction p = predictor.predict(one_rank(samples));
    EXPECT_EQ(p.part(Part::kTensorComm), 0);
    EXPECT_EQ(p.part(Part::kLaunch), 0);
    return p.part(Part::kCompute) / 4;  // micro-batches
  };
  EXPECT_NEAR(compute(1), layers(1e-4, 0.010, 0.020), 1e-12);
  EXPECT_NEAR(compute(2), layers(2e-4, 0.018, 0.036), 1e-12);
  EXPECT_NEAR(compute(3), layers(3e-4, 0.024, 0.053), 1e-12) << "between points";
  EXPECT_NEAR(compute(6), layers(6e-4, 0.045, 0.105), 1e-12) << "beyond the last";
}

TEST(Measured, BlocksKeepWhatWasMeasured) {
  const model::Model model = model::load_model("opt-350m");
  const cluster::Cluster cluster = plain_cluster();
  profile::Profile p = opt_profile();
  const auto activations = [&](double bytes, int samples) {
    p.layers[1].memory = bytes;
    const Basis basis = plain_basis(p, model);
    return Predictor(model, cluster, basis, 1)
        .predict(one_rank(samples))
        .memory.parts[static_cast<std::size_t>(MemoryPart::kActivations)];
  };
  EXPECT_NEAR(activations(4e8, 1) - activations(3e8, 1), 24 * 1e8, 1);
  EXPECT_NEAR(activations(4e8, 2) - activations(3e8, 2), 24 * 2e8, 1);
}

TEST(Measured, BackwardThatWasNotMeasuredIsModelled) {
  const model::Model model = model::load_model("opt-350m");
  profile::Profile p = opt_profile();
  p.layers[0].backward.clear();
  const cluster::Cluster cluster = plain_cluster();
  const Basis with = plain_basis(p, model);
  const Basis all = plain_basis(opt_profile(), model);
  const double less = Predictor(model, cluster, with, 1).predict(one_rank(1)).step;
  const double more = Predictor(model, cluster, all, 1).predict(one_rank(1)).step;
  EXPECT_NE(less, more);
}

TEST(Measured, UpdatesAreWhatWasMeasured) {
  const model::Model model = model::load_model("opt-350m");
  profile::Profile p = opt_profile();
  for (MeasuredLayer& l : p.layers) l.update = 2e-3;
  const Basis basis = plain_basis(p, model);
  const cluster::Cluster cluster = plain_cluster();
  const Prediction out = Predictor(model, cluster, basis, 1).predict(one_rank(1));
  const double measured = 26 * 2e-3 / (53608448 + 24 * 12596224.0 + 51513344);
  EXPECT_NEAR(out.part(Part::kOptimizer), measured * model.parameters(), 1e-9);
}

// A plan does not look better for having been measured at another tp.
TEST(Measured, OtherTensorDegreesAreModelledInProportion) {
  const model::Model model = model::load_model("opt-350m");
  const cluster::Cluster cluster = plain_cluster();
  profile::Profile blocks = opt_profile();
  blocks.layers = {blocks.layers[1]};
  const Basis basis = plain_basis(blocks, model);
  Basis bare = basis;
  bare.layers = nullptr;
  plan::Degrees d = one_rank(1);
  d.tp = 2;
  const auto compute = [&](const Basis& own) {
    return Predictor(model, cluster, own, 1).predict(d).part(Part::kCompute) / 4;
  };
  const cluster::Device device = testing::plain_device();
  const KernelModel kernels(device, basis.stack.parameters_for(device), d.precision,
                            basis.stack.options.attention);
  LayerSplit split;
  const LayerCost one = layer_cost(model.layer(1), kernels, split);
  split.tp = 2;
  const LayerCost two = layer_cost(model.layer(1), kernels, split);
  const double more =
      two.forward * (0.010 / one.forward - 1) + two.backward * (0.020 / one.backward - 1);
  EXPECT_NEAR(compute(basis) - compute(bare), 24 * more, 1e-9);
}

TEST(Measured, CollectivesThatAreMeasuredCostNothingMore) {
  const model::Model model = model::load_model("opt-350m");
  const cluster::Cluster cluster = plain_cluster();
  profile::Profile p = opt_profile();
  for (MeasuredLayer& l : p.layers) l.tp = 2;
  plan::Degrees d = one_rank(1);
  d.tp = 2;
  const auto tensor = [&] {
    const Basis basis = plain_basis(p, model);
    return Predictor(model, cluster, basis, 1).predict(d).part(Part::kTensorComm);
  };
  EXPECT_GT(tensor(), 0);
  for (MeasuredLayer& l : p.layers) l.includes_collectives = true;
  EXPECT_EQ(tensor(), 0);
}

// Random curves for every kind of layer at the plan's tp.
void measure(Case& c) {
  MeasuredDevice device;
  device.device = c.cluster.groups.front().node.device.short_name;
  device.precision = c.degrees.precision;
  device.update = testing::pick({0.0, 1e-10});
  device.kinds.resize(c.model.kinds.size());
  for (std::size_t k = 0; k < device.kinds.size(); ++k) {
    if (*rc::gen::inRange(0, 4) == 0 || c.model.kinds[k].expert_parameters() > 0) continue;
    MeasuredKind kind;
    kind.tp = testing::pick({c.degrees.tp, c.degrees.tp, 1});
    kind.collectives = *rc::gen::arbitrary<bool>();
    kind.launches = *rc::gen::arbitrary<bool>();
    const double one = testing::around(1e-5, 1);
    kind.forward = {{1, 2, 8}, {one, 1.5 * one, 6 * one}};
    if (*rc::gen::arbitrary<bool>()) kind.backward = {{1, 2, 8}, {2 * one, 3 * one, 12 * one}};
    device.kinds[k].push_back(kind);
  }
  auto measured = std::make_shared<MeasuredLayers>();
  measured->devices.push_back(device);
  c.basis.layers = measured;
}

RC_GTEST_PROP(Measured, BothPredictorsAgreeAndBoundsHold, ()) {
  for (int i = 0; i < 10; ++i) {
    Case c = testing::any_case();
    measure(c);
    RC_LOG() << testing::describe(c) << "\n";
    const std::vector<int> starts =
        stage_starts(c.model, c.degrees.pp * c.degrees.interleave, c.basis.stack.options.stages);
    if (std::adjacent_find(starts.begin(), starts.end()) != starts.end()) continue;
    Predictor predictor(c.model, c.cluster, c.basis);
    const double compact = predictor.predict(c.degrees).step;
    const double general =
        predict(expand_for(c.degrees, c.model, c.basis.stack), c.model, c.cluster, c.basis).step;
    RC_ASSERT(std::abs(compact - general) <= 1e-9 * compact);
    RC_ASSERT(predictor.bound(c.degrees).step <= compact * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace nereus::cost::measured_prediction_test
