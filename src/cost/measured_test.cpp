#include "cost/measured.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "cost/cost_testing.hpp"
#include "model/read/load_model.hpp"
#include "predict/general/general_predictor.hpp"
#include "predict/predictor.hpp"
#include "predict/stage_classes.hpp"

namespace nereus::cost::measured_test {
namespace {

using cluster::Precision;
using profile::MeasuredLayer;
using profile::Role;
using testing::Case;

// One node of two plain devices.
cluster::Cluster plain_cluster() {
  cluster::Cluster cluster;
  cluster.name = "two";
  cluster::NodeGroup group;
  group.node.name = "node";
  group.node.num_devices = 2;
  group.node.inside.bandwidth = BytesPerSecond{1e11};
  group.node.network = BytesPerSecond{1e10};
  group.node.device = testing::plain_device();
  cluster.groups = {group};
  return cluster;
}

MeasuredLayer layer(Role role, double parameters, std::vector<double> forward) {
  MeasuredLayer l;
  l.model = "OPT-350";
  l.role = role;
  l.seq = 2048;
  l.elements = 2048 * 1024;
  l.parameters = parameters;
  l.device = "plain";
  l.precision = "fp32";
  l.includes_launches = true;
  l.samples = {1, 2, 4};
  l.forward = std::move(forward);
  for (const double f : l.forward) l.backward.push_back(2 * f);
  return l;
}

profile::Profile opt_profile() {
  profile::Profile p;
  p.layers = {layer(Role::kEmbedding, 53608448, {1e-4, 2e-4, 4e-4}),
              layer(Role::kBlock, 12596224, {0.010, 0.018, 0.030}),
              layer(Role::kHead, 51513344, {0.020, 0.036, 0.070})};
  return p;
}

std::vector<Error> errors_of(const profile::Profile& p, const model::Model& model) {
  try {
    match_layers({{p, "p.json"}}, model, plain_cluster());
  } catch (const Errors& errors) {
    return errors.list();
  }
  return {};
}

plan::Degrees one_rank(int micro_batch) {
  plan::Degrees d;
  d.precision = Precision::kFp32;
  d.micro_batch = micro_batch;
  d.global_batch = 4 * micro_batch;
  d.dp = 1;
  return d;
}

Stack plain_stack(const profile::Profile& p, const model::Model& model) {
  Stack stack = builtin_stacks().resolve("megatron");
  stack.measured =
      std::make_shared<const MeasuredLayers>(match_layers({{p, "p.json"}}, model, plain_cluster()));
  return stack;
}

TEST(Measured, ComputeIsWhatWasMeasured) {
  const model::Model model = model::load_model("opt-350m");
  cluster::Cluster cluster = plain_cluster();
  const Stack stack = plain_stack(opt_profile(), model);
  Predictor predictor(model, cluster, stack, 8);
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
    const Stack stack = plain_stack(p, model);
    return Predictor(model, cluster, stack, 1)
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
  const Stack with = plain_stack(p, model);
  const Stack all = plain_stack(opt_profile(), model);
  const double less = Predictor(model, cluster, with, 1).predict(one_rank(1)).step;
  const double more = Predictor(model, cluster, all, 1).predict(one_rank(1)).step;
  EXPECT_NE(less, more);
}

TEST(Measured, UpdatesAreWhatWasMeasured) {
  const model::Model model = model::load_model("opt-350m");
  profile::Profile p = opt_profile();
  for (MeasuredLayer& l : p.layers) l.update = 2e-3;
  const Stack stack = plain_stack(p, model);
  const cluster::Cluster cluster = plain_cluster();
  const Prediction out = Predictor(model, cluster, stack, 1).predict(one_rank(1));
  const double measured = 26 * 2e-3 / (53608448 + 24 * 12596224.0 + 51513344);
  EXPECT_NEAR(out.part(Part::kOptimizer), measured * model.parameters(), 1e-9);
}

// A plan does not look better for having been measured at another tp.
TEST(Measured, OtherTensorDegreesAreModelledInProportion) {
  const model::Model model = model::load_model("opt-350m");
  const cluster::Cluster cluster = plain_cluster();
  profile::Profile blocks = opt_profile();
  blocks.layers = {blocks.layers[1]};
  const Stack stack = plain_stack(blocks, model);
  Stack bare = stack;
  bare.measured = nullptr;
  plan::Degrees d = one_rank(1);
  d.tp = 2;
  const auto compute = [&](const Stack& own) {
    return Predictor(model, cluster, own, 1).predict(d).part(Part::kCompute) / 4;
  };
  const cluster::Device device = testing::plain_device();
  const KernelModel kernels(device, stack.parameters_for(device), d.precision,
                            stack.options.attention);
  LayerSplit split;
  const LayerCost one = layer_cost(model.layer(1), kernels, split);
  split.tp = 2;
  const LayerCost two = layer_cost(model.layer(1), kernels, split);
  const double more =
      two.forward * (0.010 / one.forward - 1) + two.backward * (0.020 / one.backward - 1);
  EXPECT_NEAR(compute(stack) - compute(bare), 24 * more, 1e-9);
}

TEST(Measured, CollectivesThatAreMeasuredCostNothingMore) {
  const model::Model model = model::load_model("opt-350m");
  const cluster::Cluster cluster = plain_cluster();
  profile::Profile p = opt_profile();
  for (MeasuredLayer& l : p.layers) l.tp = 2;
  plan::Degrees d = one_rank(1);
  d.tp = 2;
  const auto tensor = [&] {
    const Stack stack = plain_stack(p, model);
    return Predictor(model, cluster, stack, 1).predict(d).part(Part::kTensorComm);
  };
  EXPECT_GT(tensor(), 0);
  for (MeasuredLayer& l : p.layers) l.includes_collectives = true;
  EXPECT_EQ(tensor(), 0);
}

TEST(Measured, WhatDoesNotMatchIsAnError) {
  const model::Model opt = model::load_model("opt-350m");
  EXPECT_TRUE(errors_of(opt_profile(), opt).empty());
  const std::vector<Error> other = errors_of(opt_profile(), model::load_model("gpt2-xl"));
  ASSERT_EQ(other.size(), 1u);
  EXPECT_EQ(other[0].code, "profile.no-model");
  EXPECT_NE(other[0].message.find("2048 tokens a sample, not 1,024"), std::string::npos)
      << other[0].message;
  profile::Profile elsewhere = opt_profile();
  for (MeasuredLayer& l : elsewhere.layers) l.device = "T4";
  EXPECT_EQ(errors_of(elsewhere, opt).at(0).code, "profile.no-device");
  profile::Profile strange = opt_profile();
  for (MeasuredLayer& l : strange.layers) l.precision = "fp31";
  EXPECT_EQ(errors_of(strange, opt).at(0).code, "profile.precision");
}

TEST(Measured, AbsurdTimesAreSaid) {
  const model::Model model = model::load_model("opt-350m");
  profile::Profile fast = opt_profile();
  fast.layers[2].forward = {1e-6, 2e-6, 4e-6};  // of 0.2 TFLOP on 100 TFLOP/s
  const MeasuredLayers without = match_layers({{fast, "p.json"}}, model, plain_cluster());
  ASSERT_EQ(without.notes.size(), 1u);
  EXPECT_NE(without.notes[0].find("not used: head"), std::string::npos);
  profile::Profile waits = opt_profile();  // an embedding computes nothing, and may wait for links
  waits.layers[0].forward = {0.3, 0.4, 0.5};
  EXPECT_TRUE(errors_of(waits, model).empty());
  profile::Profile slow = opt_profile();
  for (double& f : slow.layers[1].forward) f *= 1000;  // milliseconds
  EXPECT_EQ(errors_of(slow, model).at(0).code, "profile.absurd");
}

TEST(Measured, AbsurdEmbeddingsAndHeadsAreSaid) {
  const model::Model model = model::load_model("opt-350m");
  for (const std::size_t which : {0, 2})
    for (const bool back : {false, true})
      for (const double factor : {1e4, 1e5}) {
        profile::Profile slow = opt_profile();
        MeasuredLayer& own = slow.layers[which];
        for (double& f : back ? own.backward : own.forward) f *= factor;
        const std::vector<Error> errors = errors_of(slow, model);
        if (factor * own.forward.front() < 10) continue;  // an embedding in 1 s: it may wait
        ASSERT_EQ(errors.size(), 1u) << which << " " << back << " " << factor;
        EXPECT_EQ(errors[0].code, "profile.absurd");
        EXPECT_NE(errors[0].message.find("a block of it takes"), std::string::npos)
            << errors[0].message;
      }
  // Cut, with blocks that are not: they stand in.
  profile::Profile cut = opt_profile();
  cut.layers[2].tp = 2;
  EXPECT_TRUE(errors_of(cut, model).empty());
  for (double& f : cut.layers[2].forward) f *= 1e4;
  EXPECT_EQ(errors_of(cut, model).at(0).code, "profile.absurd");
}

TEST(Measured, AbsurdUpdatesAndMemoryAreSaid) {
  const model::Model model = model::load_model("opt-350m");
  profile::Profile p = opt_profile();
  p.layers[1].update = 0.003;
  p.layers[1].memory = 4e8;
  EXPECT_TRUE(errors_of(p, model).empty());
  p.layers[1].update = 3000;
  EXPECT_EQ(errors_of(p, model).at(0).code, "profile.absurd");
  p.layers[1].update = 0.003;
  p.layers[1].memory = 4e14;
  EXPECT_EQ(errors_of(p, model).at(0).code, "profile.absurd");
}

TEST(Measured, NoLayerThatFitsIsSaidWithTheReason) {
  const auto message = [](const profile::Profile& p, const model::Model& model) {
    const std::vector<Error> errors = errors_of(p, model);
    EXPECT_EQ(errors.size(), 1u);
    if (errors.empty()) return std::string();
    EXPECT_EQ(errors[0].code, "profile.no-model");
    return errors[0].message;
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const model::Model opt = model::load_model("opt-350m");
  profile::Profile ends = opt_profile();
  ends.layers.erase(ends.layers.begin() + 1);
  has(message(ends, opt), "it has embedding on plain, head on plain, and no block there");
  profile::Profile quick = opt_profile();
  quick.layers[1].forward = {1e-6, 2e-6, 4e-6};
  has(message(quick, opt), "the device's peak needs");
  has(message(opt_profile(), model::load_model("mixtral-8x7b")), "have experts or tables");
  // What is wrong already needs no second word.
  profile::Profile slow = opt_profile();
  for (double& f : slow.layers[1].forward) f *= 1000;
  ASSERT_EQ(errors_of(slow, opt).size(), 1u);
}

TEST(Measured, ReasonsAreThoseOfTheProfileInHand) {
  profile::Profile other = opt_profile();
  for (MeasuredLayer& l : other.layers) l.seq = 1024;
  profile::Profile ends = opt_profile();
  ends.layers.erase(ends.layers.begin() + 1);
  try {
    match_layers({{other, "other.json"}, {ends, "ends.json"}}, model::load_model("opt-350m"),
                 plain_cluster());
    FAIL();
  } catch (const Errors& errors) {
    ASSERT_EQ(errors.list().size(), 2u);
    EXPECT_NE(errors.list()[0].message.find("1024 tokens"), std::string::npos);
    EXPECT_EQ(errors.list()[1].message.find("1024 tokens"), std::string::npos);
  }
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
  c.stack.measured = measured;
}

RC_GTEST_PROP(Measured, BothPredictorsAgreeAndBoundsHold, ()) {
  for (int i = 0; i < 10; ++i) {
    Case c = testing::any_case();
    measure(c);
    RC_LOG() << testing::describe(c) << "\n";
    const std::vector<int> starts =
        stage_starts(c.model, c.degrees.pp * c.degrees.interleave, c.stack.options.stages);
    if (std::adjacent_find(starts.begin(), starts.end()) != starts.end()) continue;
    Predictor predictor(c.model, c.cluster, c.stack);
    const double compact = predictor.predict(c.degrees).step;
    const double general =
        predict(expand_for(c.degrees, c.model, c.stack), c.model, c.cluster, c.stack).step;
    RC_ASSERT(std::abs(compact - general) <= 1e-9 * compact);
    RC_ASSERT(predictor.bound(c.degrees).step <= compact * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace nereus::cost::measured_test
