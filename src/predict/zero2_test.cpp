// ZeRO-2 without a pipeline: what each micro-batch reduces, by the rule of the stack.
#include <gtest/gtest.h>

#include "cluster/load_cluster.hpp"
#include "model/read/load_model.hpp"
#include "predict/predictor.hpp"
#include "stack/stack_file.hpp"

namespace nereus::cost::zero2_test {
namespace {

struct Zero2 {
  Zero2Rule rule = Zero2Rule::kReduceEach;
  int num_micro_batches = 1;
  int zero = 2;
  int zero_group = 0;
  bool overlaps = false;
};

Prediction predict(const Zero2& own) {
  static const model::Model model = model::load_model("llama3-8b");
  static const cluster::Cluster cluster = cluster::load_cluster("4xdgx-h100");
  Basis basis(builtin_stacks().resolve("generic"));
  basis.stack.options.zero2 = own.rule;
  basis.stack.settings["zero_overlap"] = 0.9;
  basis.stack.settings["shard_overlap"] = 0.9;
  plan::Degrees d;
  d.dp = 32;
  d.zero = own.zero;
  d.zero_group = own.zero_group;
  d.data_overlap = own.overlaps;
  d.global_batch = d.dp * own.num_micro_batches;
  return Predictor(model, cluster, basis).predict(d);
}

double data_comm(const Zero2& own) { return predict(own).part(Part::kDataComm); }

TEST(Zero2, EveryMicroBatchIsReduced) {
  const double one = data_comm({});
  const double two = data_comm({.num_micro_batches = 2});
  const double eight = data_comm({.num_micro_batches = 8});
  // fp32 gradients are twice as many bytes as the 16-bit weights that are gathered once.
  EXPECT_NEAR(two - one, one * 2 / 3, 0.02 * one);
  EXPECT_NEAR(eight - one, 7 * (two - one), 1e-12);
  EXPECT_EQ(data_comm({.zero = 1}), one);
  EXPECT_NEAR(data_comm({.num_micro_batches = 8, .zero = 1}), one, 1e-12);
}

TEST(Zero2, Fsdp2AlsoGathersBeforeEveryForwardPass) {
  constexpr Zero2Rule kRule = Zero2Rule::kGatherEach;
  const double one = data_comm({.rule = kRule});
  EXPECT_NEAR(data_comm({.rule = kRule, .num_micro_batches = 8}), 8 * one, 1e-12);
}

TEST(Zero2, ReducedOnceItKeepsWholeGradients) {
  constexpr Zero2Rule kRule = Zero2Rule::kReduceOnce;
  const Prediction one = predict({.rule = kRule});
  const Prediction eight = predict({.rule = kRule, .num_micro_batches = 8});
  EXPECT_NEAR(eight.part(Part::kDataComm), one.part(Part::kDataComm), 1e-12);
  const auto gradients = [](const Prediction& p) { return p.memory.part(MemoryPart::kGradients); };
  EXPECT_DOUBLE_EQ(gradients(eight), 32 * gradients(one));
  EXPECT_DOUBLE_EQ(gradients(predict({.num_micro_batches = 8})), gradients(one));
}

// Replicas of groups reduce once, so that a further micro-batch adds a reduce-scatter inside a
// node.
TEST(Zero2, ReplicasReduceOnce) {
  const double one = data_comm({.zero_group = 8});
  const double each = data_comm({.num_micro_batches = 2, .zero_group = 8}) - one;
  const double wide = data_comm({.num_micro_batches = 2}) - data_comm({});
  EXPECT_GT(each, 0);
  EXPECT_LT(each, 0.6 * wide);
  EXPECT_LT(each, one / 2);  // which all-reduces and gathers as well
}

// Each reduction hides behind its own backward pass; at least 5 % of it is exposed.
TEST(Zero2, ReductionsHideBehindTheirBackwardPasses) {
  const double one = data_comm({.overlaps = true});
  const double each = (data_comm({.num_micro_batches = 8, .overlaps = true}) - one) / 7;
  const double whole = data_comm({.num_micro_batches = 2}) - data_comm({});
  EXPECT_GE(each, 0.05 * whole * (1 - 1e-9));
  EXPECT_LT(each, whole);
}

}  // namespace
}  // namespace nereus::cost::zero2_test
