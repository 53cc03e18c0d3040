// Bubbles and activations of a pipeline through a whole prediction.
#include <gtest/gtest.h>

#include <vector>

#include "predict/predictor.hpp"
#include "stack/stack_file.hpp"

namespace nereus::cost::pipeline_prediction_test {
namespace {

using plan::Schedule;

// Blocks alone: all stages are equal.
model::Model blocks_alone(int layers) {
  model::TransformerShape shape;
  shape.name = "blocks";
  shape.layers = layers;
  shape.hidden = 512;
  shape.heads = 8;
  shape.ffn = 2048;
  shape.vocab = 1000;
  shape.seq = 256;
  model::Model model = model::build_transformer(shape);
  std::vector<int> blocks;
  for (const int kind : model.layers)
    if (model.kinds[kind].role == model::LayerRole::kBlock) blocks.push_back(kind);
  model.layers = blocks;
  return model;
}

class PipelinePrediction : public ::testing::Test {
 protected:
  Prediction predict(int pp, int interleave, int micro_batches,
                     Schedule schedule = Schedule::k1f1b) {
    plan::Degrees d;
    d.pp = pp;
    d.interleave = interleave;
    d.schedule = interleave > 1 ? Schedule::kInterleaved : schedule;
    d.global_batch = micro_batches;
    cluster::Cluster cluster;
    cluster::NodeGroup group;
    group.count = pp;
    group.node.num_devices = 1;
    group.node.network = BytesPerSecond{1e11};
    group.node.device.memory = Bytes{80e9};
    group.node.device.memory_bandwidth = BytesPerSecond{2e12};
    group.node.device.peak.fill(FlopsPerSecond{3e14});
    cluster.groups.push_back(group);
    const Basis basis(builtin_stacks().resolve("generic"));
    return Predictor(model_, cluster, basis).predict(d);
  }
  static double work(const Prediction& p) {
    return p.part(Part::kCompute) + p.part(Part::kRecompute) + p.part(Part::kLaunch);
  }
  model::Model model_ = blocks_alone(24);
};

TEST_F(PipelinePrediction, BubbleIsPMinusOneOverM) {
  for (int pp : {2, 4, 8})
    for (int m : {8, 16, 64}) {
      const Prediction p = predict(pp, 1, m);
      EXPECT_NEAR(p.part(Part::kBubble) / work(p), (pp - 1.0) / m, 1e-12) << pp << " " << m;
    }
}

TEST_F(PipelinePrediction, InterleavingDividesTheBubble) {
  for (int v : {2, 3, 6}) {
    const Prediction p = predict(4, v, 16);
    EXPECT_NEAR(p.part(Part::kBubble) / work(p), 3.0 / (16 * v), 1e-12) << v;
  }
}

TEST_F(PipelinePrediction, GpipeDiffersFromOneForwardOneBackwardInMemoryAlone) {
  const Prediction gpipe = predict(4, 1, 16, Schedule::kGpipe);
  const Prediction one_one = predict(4, 1, 16);
  EXPECT_NEAR(gpipe.step, one_one.step, 1e-12 * one_one.step);
  EXPECT_NEAR(
      gpipe.memory.part(MemoryPart::kActivations) / one_one.memory.part(MemoryPart::kActivations),
      16.0 / 4, 1e-12);
}

TEST_F(PipelinePrediction, ActivationsAreThoseInFlight) {
  const double one = predict(1, 1, 16).memory.part(MemoryPart::kActivations);
  // A quarter of the layers each; the first stage holds four micro-batches, or all there are.
  EXPECT_NEAR(predict(4, 1, 16).memory.part(MemoryPart::kActivations), one / 4 * 4, 1e-6 * one);
  EXPECT_NEAR(predict(4, 1, 2).memory.part(MemoryPart::kActivations), one / 4 * 2, 1e-6 * one);
  EXPECT_NEAR(predict(4, 2, 16).memory.part(MemoryPart::kActivations), one / 4 * 5.5, 1e-6 * one);
}

}  // namespace
}  // namespace nereus::cost::pipeline_prediction_test
