#include "predict/memory.hpp"

#include <gtest/gtest.h>

#include "predict/predictor.hpp"
#include "stack/stack_file.hpp"

namespace nereus::cost::memory_test {
namespace {

// 16 bytes a parameter, no buffers, nothing fixed, no slack: what is left can be counted by hand.
Basis plain_basis() {
  Basis basis(builtin_stacks().resolve("generic"));
  basis.stack.options = {};
  basis.stack.options.weight_bytes = 2;
  basis.stack.options.gradient_bytes = 2;
  basis.stack.options.optimizer_bytes = 12;
  basis.stack.settings = {{"memory_fixed", 0},    {"memory_slack", 1},      {"buffer_bytes", 0},
                          {"pipeline_layers", 0}, {"activation_copies", 1}, {"gathered_inputs", 0},
                          {"logits_copies", 2}};
  return basis;
}

model::Model small_model(bool tied = false, int layers = 4) {
  model::TransformerShape shape;
  shape.name = "small";
  shape.layers = layers;
  shape.hidden = 64;
  shape.heads = 4;
  shape.ffn = 256;
  shape.vocab = 1000;
  shape.seq = 32;
  shape.tied_embeddings = tied;
  return model::build_transformer(shape);
}

cluster::Cluster machines(int count) {
  cluster::Cluster cluster;
  cluster::NodeGroup group;
  group.count = count;
  group.node.num_devices = 1;
  group.node.network = BytesPerSecond{1e10};
  group.node.device.memory = Bytes{16e9};
  group.node.device.memory_bandwidth = BytesPerSecond{1e12};
  group.node.device.peak.fill(FlopsPerSecond{1e14});
  group.node.tiers.push_back({"host", Bytes{64e9}, BytesPerSecond{1e10}, Seconds{}});
  cluster.groups.push_back(group);
  return cluster;
}

Prediction predict(const model::Model& model, const plan::Degrees& d) {
  return Predictor(model, machines(d.num_ranks()), plain_basis()).predict(d);
}

plan::Degrees data_parallel(int dp, int zero) {
  plan::Degrees d;
  d.dp = d.global_batch = dp;
  d.zero = zero;
  return d;
}

double state_of(const Prediction& p) {
  return p.memory.part(MemoryPart::kWeights) + p.memory.part(MemoryPart::kGradients) +
         p.memory.part(MemoryPart::kOptimizer);
}

// --- state --------------------------------------------------------------------------------------

TEST(MemoryOfState, IsSixteenBytesAParameter) {
  const model::Model model = small_model();
  EXPECT_DOUBLE_EQ(state_of(predict(model, data_parallel(4, 0))), 16 * model.parameters());
}

TEST(MemoryOfState, IsDividedByZeroStage) {
  const model::Model model = small_model();
  const double n = model.parameters();
  EXPECT_DOUBLE_EQ(state_of(predict(model, data_parallel(4, 1))), n * (2 + 2 + 12.0 / 4));
  EXPECT_DOUBLE_EQ(state_of(predict(model, data_parallel(4, 2))), n * (2 + 2.0 / 4 + 12.0 / 4));
  EXPECT_DOUBLE_EQ(state_of(predict(model, data_parallel(4, 3))), n * 16.0 / 4);
}

TEST(MemoryOfState, IsDividedWithinAGroupOnly) {
  const model::Model model = small_model();
  plan::Degrees d = data_parallel(8, 3);
  d.zero_group = 2;
  EXPECT_DOUBLE_EQ(state_of(predict(model, d)), model.parameters() * 16 / 2);
  d.zero_group = 1;  // groups of one divide nothing
  EXPECT_DOUBLE_EQ(state_of(predict(model, d)), model.parameters() * 16);
}

TEST(MemoryOfState, HoldsATiedWeightOnce) {
  const model::Model model = small_model(true);
  ASSERT_EQ(model.tied.size(), 1U);
  EXPECT_DOUBLE_EQ(state_of(predict(model, data_parallel(1, 0))), 16 * model.parameters());
  plan::Degrees d = data_parallel(1, 0);
  d.pp = 4;  // both ends on a stage of their own; the last, one block and the head, is the fullest
  const Prediction p = predict(model, d);
  const int last = model.num_layers() - 1;
  EXPECT_EQ(p.memory.worst_stage, 3);
  EXPECT_DOUBLE_EQ(state_of(p),
                   16 * (model.layer(last - 1).parameters() + model.layer(last).parameters()));
}

TEST(MemoryOfState, StaysWholeUnderAPipelineButForTheOptimizer) {
  const model::Model model = small_model();
  plan::Degrees d = data_parallel(4, 2);
  d.pp = 2;
  const Prediction p = predict(model, d);
  const double n = p.memory.part(MemoryPart::kWeights) / 2;
  EXPECT_DOUBLE_EQ(p.memory.part(MemoryPart::kGradients), 2 * n);
  EXPECT_DOUBLE_EQ(p.memory.part(MemoryPart::kOptimizer), 12 * n / 4);
}

// --- activations --------------------------------------------------------------------------------

TEST(MemoryOfActivations, FullRecomputeKeepsInputsAndOneBlock) {
  const model::Model model = small_model();
  plan::Degrees d = data_parallel(1, 0);
  const double none = predict(model, d).memory.part(MemoryPart::kActivations);
  d.recompute = plan::Recompute::kFull;
  const double full = predict(model, d).memory.part(MemoryPart::kActivations);
  // Each of the four blocks keeps s h x 2 bytes instead of its own; one of them is there whole.
  const double input = 32 * 64 * 2;
  const double block =
      predict(small_model(false, 5), data_parallel(1, 0)).memory.part(MemoryPart::kActivations) -
      none;
  EXPECT_DOUBLE_EQ(none - full, 4 * (block - input) - block);
  d.micro_batch = d.global_batch = 3;
  EXPECT_NEAR(predict(model, d).memory.part(MemoryPart::kActivations), 3 * full, 1e-6 * full);
}

TEST(MemoryOfActivations, LogitsOfOneMicroBatch) {
  const model::Model model = small_model();
  const Prediction one = predict(model, data_parallel(1, 0));
  EXPECT_GT(one.memory.part(MemoryPart::kLogits), 0);
  plan::Degrees d = data_parallel(1, 0);
  d.global_batch = 8;  // more micro-batches, not larger ones
  EXPECT_EQ(predict(model, d).memory.part(MemoryPart::kLogits),
            one.memory.part(MemoryPart::kLogits));
}

// --- offload ------------------------------------------------------------------------------------

TEST(MemoryOffload, MovesItsShareToTheHost) {
  const model::Model model = small_model();
  plan::Degrees d = data_parallel(1, 0);
  const Prediction before = predict(model, d);
  d.offload.optimizer = 0.5;
  const Prediction half = predict(model, d);
  EXPECT_DOUBLE_EQ(half.memory.part(MemoryPart::kOptimizer),
                   before.memory.part(MemoryPart::kOptimizer) / 2);
  EXPECT_DOUBLE_EQ(half.memory.beyond, 6 * model.parameters());
  // The host updates half of the parameters: 2 + 2 * 12 + 2 bytes each.
  const double host = 28 * model.parameters() / 2 / Parameters{}.host_update_rate;
  EXPECT_NEAR(half.part(Part::kOffload), host - half.part(Part::kOptimizer), 1e-12);
  EXPECT_GT(half.step, before.step);
}

// Ren 2021, table 4: 10 billion parameters (gradients in 4 bytes here) in 2.57 s. The devices of a
// node share its host, and software that streams the state moves all of it instead.
TEST(MemoryOffload, TheHostUpdatesAsFastAsCpuAdam) {
  const model::Model model = small_model();
  plan::Degrees d = data_parallel(2, 0);
  d.offload.optimizer = 1;
  cluster::Cluster cluster = machines(1);
  cluster.groups.front().node.num_devices = 2;
  cluster.groups.front().node.tiers.front().bandwidth = BytesPerSecond{1e15};
  Basis basis = plain_basis();
  basis.stack.options.gradient_bytes = 4;
  const auto predicted = [&] { return Predictor(model, cluster, basis).predict(d); };
  const auto update = [&] {
    return predicted().part(Part::kOptimizer) + predicted().part(Part::kOffload);
  };
  EXPECT_NEAR(update() / model.parameters(), 2 * 2.57 / 1e10, 0.01 * 2 * 2.57 / 1e10);
  basis.stack.options.host_update = false;
  EXPECT_EQ(predicted().part(Part::kOffload), 0);  // it hides behind the device's update
  cluster.groups.front().node.tiers.front().bandwidth = BytesPerSecond{1e9};
  EXPECT_NEAR(update(), 12 * model.parameters() / 1e9, 1e-9);
}

TEST(MemoryOffload, NeedsHostMemory) {
  const model::Model model = small_model();
  plan::Degrees d = data_parallel(1, 0);
  d.offload.optimizer = 1;
  cluster::Cluster cluster = machines(1);
  EXPECT_TRUE(Predictor(model, cluster, plain_basis()).predict(d).fits);
  cluster.groups.front().node.tiers.front().capacity = Bytes{1e6};
  EXPECT_FALSE(Predictor(model, cluster, plain_basis()).predict(d).fits);
}

// A second tier has its own rate, whatever the host link, and its own room; each layer's transfer
// pays its latency.
TEST(MemoryOffload, ExpandedMemoryIsATierOfItsOwn) {
  const model::Model model = small_model();
  plan::Degrees d = data_parallel(1, 0);
  d.offload.optimizer = 1;
  d.offload.tier = plan::Tier::kExpanded;
  cluster::Cluster cluster = machines(1);
  cluster::Node& node = cluster.groups.front().node;
  node.device.host_link = BytesPerSecond{1e9};
  const auto predicted = [&] { return Predictor(model, cluster, plain_basis()).predict(d); };
  EXPECT_FALSE(predicted().fits);  // there is none
  node.tiers.push_back({"expanded", Bytes{1e12}, BytesPerSecond{2e10}, Seconds{}});
  const Prediction plain = predicted();
  EXPECT_TRUE(plain.fits);
  EXPECT_EQ(plain.memory.beyond_tier, plan::Tier::kExpanded);
  EXPECT_DOUBLE_EQ(plain.memory.beyond, 12 * model.parameters());
  EXPECT_DOUBLE_EQ(plain.memory.beyond_capacity, 1e12 / node.num_devices);
  EXPECT_NEAR(plain.part(Part::kOffload),
              12 * model.parameters() / 2e10 - plain.part(Part::kOptimizer), 1e-12);
  int layers = 0;
  for (int i = 0; i < model.num_layers(); ++i) layers += model.layer(i).parameters() > 0 ? 1 : 0;
  node.tiers.back().latency = Seconds{1e-3};
  EXPECT_NEAR(predicted().part(Part::kOffload), plain.part(Part::kOffload) + layers * 1e-3, 1e-12);
  d.offload.weights = 1;  // out once more in the update, and in for both passes of a micro-batch
  node.tiers.back().bandwidth = BytesPerSecond{1e18};
  node.tiers.back().latency = Seconds{1};
  const Prediction slow = predicted();
  const double passes = slow.part(Part::kCompute);
  EXPECT_NEAR(slow.part(Part::kOffload),
              2 * layers - slow.part(Part::kOptimizer) + 2 * layers - passes, 1e-6);
  // The host tier is bound by its link: 2-byte gradients cross it, as the host updates the state.
  d.offload = {.optimizer = 1};
  EXPECT_NEAR(predicted().part(Part::kOffload),
              2 * model.parameters() / 1e9 - plain.part(Part::kOptimizer), 1e-9);
  node.tiers.back().capacity = Bytes{1e6};
  EXPECT_TRUE(predicted().fits);
  d.offload.tier = plan::Tier::kExpanded;
  EXPECT_FALSE(predicted().fits);
}

TEST(MemoryOffload, CopiesHideBehindTheMicroBatch) {
  const model::Model model = small_model();
  plan::Degrees d = data_parallel(1, 0);
  d.offload.activations = 1;
  cluster::Cluster cluster = machines(1);
  cluster.groups.front().node.tiers.front().bandwidth = BytesPerSecond{1e14};
  EXPECT_EQ(Predictor(model, cluster, plain_basis()).predict(d).part(Part::kOffload), 0);
  cluster.groups.front().node.tiers.front().bandwidth = BytesPerSecond{1e6};
  EXPECT_GT(Predictor(model, cluster, plain_basis()).predict(d).part(Part::kOffload), 0);
}

}  // namespace
}  // namespace nereus::cost::memory_test
