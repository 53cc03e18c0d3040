// What rows leave blank is filled in by rules that hold for every row, and named.
#include "calibrate/derive_plan.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/evaluate_runs.hpp"
#include "calibrate/runs_testing.hpp"
#include "plan/complete.hpp"

namespace nereus::calibrate::derive_plan_test {
namespace {

using namespace testing;  // of this folder
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// A throughput, of the base row with these cells changed.
Cells rate(Cells changes) {
  changes.merge(Cells{{"metric", "tokens_per_s_per_gpu"}, {"value", "1000"}});
  return changes;
}

double time_of(const Run& run, int micro_batch) {
  const cost::StackLibrary library = test_library();
  plan::Degrees d = run.degrees;
  d.micro_batch = micro_batch;
  const cost::Prediction p = PredictorOf(run, library).predict(d);
  return p.fits ? p.step : 1e9;
}

TEST(DerivePlan, NothingIsDerivedWhereAllIsStated) { EXPECT_THAT(run_of({}).derived, IsEmpty()); }

TEST(DerivePlan, AMicroBatchIsTheFastestOfThoseThatFit) {
  const auto run = run_of(rate({{"micro_batch", ""}}));
  EXPECT_THAT(run.derived, ElementsAre("micro_batch"));
  EXPECT_EQ(run.degrees.dp, 4);
  for (const int other : {1, 2, 4, 8})
    EXPECT_LE(time_of(run, run.degrees.micro_batch), time_of(run, other)) << other;
}

TEST(DerivePlan, ALayoutFillsTheDevicesAndKeepsWhatIsStated) {
  const auto run = run_of(rate({{"tp", ""}, {"pp", ""}, {"dp", ""}}));
  EXPECT_THAT(run.derived, ElementsAre("tp", "pp"));
  EXPECT_EQ(run.degrees.num_ranks(), 16);
  EXPECT_EQ(run.degrees.micro_batch, 2);
  EXPECT_EQ(run.degrees.global_batch, 32);
  const auto pipelined = run_of(rate({{"tp", ""}, {"pp", "4"}, {"dp", ""}}));
  EXPECT_EQ(pipelined.degrees.pp, 4);
  EXPECT_EQ(pipelined.degrees.num_ranks(), 16);
  const auto replicated = run_of(rate({{"tp", ""}, {"pp", ""}, {"dp", "8"}}));
  EXPECT_EQ(replicated.degrees.dp, 8);
  EXPECT_EQ(replicated.degrees.tp * replicated.degrees.pp, 2);
}

TEST(DerivePlan, OneOpenDegreeFollowsFromTheOthers) {
  const auto run = run_of(rate({{"tp", ""}}));
  EXPECT_EQ(run.degrees.tp, 2) << "16 devices over pp 2 and dp 4";
  EXPECT_THAT(run.derived, IsEmpty()) << "there was no choice";
  EXPECT_EQ(skipped_for(rate({{"tp", ""}, {"dp", "5"}})),
            "tp x pp x dp x cp is not the number of devices");
}

TEST(DerivePlan, ALayoutThatMustBeSplitIs) {
  // Sixty billion parameters do not fit on one device.
  const auto run = run_of(rate({{"tp", ""},
                                {"pp", ""},
                                {"dp", ""},
                                {"layers", "64"},
                                {"hidden", "8192"},
                                {"heads", "64"},
                                {"gpus", "64"},
                                {"global_batch", "256"},
                                {"micro_batch", ""}}));
  EXPECT_GT(run.degrees.tp * run.degrees.pp, 8);
  EXPECT_TRUE(predict(run, test_library()).fits);
}

TEST(DerivePlan, ABatchIsDerivedInWholePasses) {
  const Cells rate = {{"metric", "tokens_per_s_per_gpu"}, {"value", "1000"}, {"global_batch", ""}};
  const auto run = run_of(rate);
  EXPECT_THAT(run.derived, ElementsAre("global_batch"));
  EXPECT_EQ(run.degrees.global_batch, plan::default_global_batch(*run.model, run.cluster));
  EXPECT_EQ(run.degrees.global_batch % (run.degrees.dp * run.degrees.micro_batch), 0);
  EXPECT_DOUBLE_EQ(run.step, run.degrees.global_batch * 2048.0 / (1000 * 16));
}

TEST(DerivePlan, OnlyAThroughputIsOfThePlanThatServesBest) {
  for (const char* column : {"tp", "pp", "dp", "micro_batch", "global_batch"}) {
    EXPECT_EQ(skipped_for({{column, ""}}), fmt::format("{} not stated", column));
    EXPECT_EQ(skipped_for({{column, ""}, {"metric", "mfu"}}), fmt::format("{} not stated", column));
    EXPECT_EQ(skipped_for(rate({{column, ""}})), "used") << column;
  }
}

TEST(DerivePlan, UnknownSoftwareRecomputesWhatItMust) {
  const Cells large = {{"layers", "32"},       {"hidden", "4096"}, {"heads", "32"},
                       {"seq", "4096"},        {"tp", "1"},        {"pp", "1"},
                       {"dp", "16"},           {"zero", "3"},      {"micro_batch", "16"},
                       {"global_batch", "256"}};
  Cells unknown = large;
  unknown["stack"] = "abacus";
  const auto run = run_of(unknown);
  EXPECT_NE(run.degrees.recompute, plan::Recompute::kNone);
  EXPECT_THAT(run.derived, ElementsAre("recompute"));
  unknown["recompute"] = "none";
  EXPECT_EQ(run_of(unknown).degrees.recompute, plan::Recompute::kNone) << "as stated";
  Cells known = large;
  known["stack"] = "generic";
  EXPECT_EQ(run_of(known).degrees.recompute, plan::Recompute::kNone) << "its documented default";
}

TEST(DerivePlan, ASequenceIsThatOfTheCatalogsModel) {
  const Cells llama = {
      {"model", "llama2-7b"}, {"layers", "32"}, {"hidden", "4096"}, {"heads", "32"},
      {"mlp", "gated"},       {"ffn", "11008"}, {"seq", ""}};
  const auto run = run_of(llama);
  EXPECT_EQ(run.model->tokens_per_sample, 4096);
  EXPECT_THAT(run.derived, Contains("seq"));
  Cells cut = llama;
  cut["layers"] = "8";
  EXPECT_EQ(skipped_for(cut), "seq not stated") << "another model by that name";
}

TEST(DerivePlan, TheMachineMayBeNamedByItsNodesAlone) {
  const auto run = run_of({{"gpu", ""}, {"gpus", ""}, {"node", "dgx-a100-80"}, {"nodes", "2"}});
  EXPECT_EQ(run.degrees.num_ranks(), 16);
  EXPECT_EQ(run.cluster.groups.front().node.device.short_name, "A100-SXM-80GB");
  EXPECT_THAT(run.derived, ElementsAre("gpus", "gpu"));
}

TEST(DerivePlan, CountsAreOfTheTable) {
  const RunTable table = parse({with({}), with(rate({{"micro_batch", ""}})),
                                with(rate({{"tp", ""}, {"pp", ""}, {"dp", ""}}))});
  EXPECT_THAT(table.derived, ElementsAre(Pair("micro_batch", 1), Pair("pp", 1), Pair("tp", 1)));
}

// --- machines ------------------------------------------------------------------------------------

TEST(RowMachine, HasTheNetworkThatTheRowStates) {
  const auto run = run_of({{"network", "100 Gbit/s"}});
  EXPECT_DOUBLE_EQ(run.cluster.groups.front().node.network.value, 12.5e9);
  EXPECT_EQ(skipped_for({{"network", "100"}}), "network is no rate like 100 Gbit/s");
}

Cells on_tpus(const char* gpu, const char* gpus, Cells more = {}) {
  more.merge(Cells{{"gpu", gpu},
                   {"gpus", gpus},
                   {"tp", "1"},
                   {"pp", "1"},
                   {"dp", gpus},
                   {"micro_batch", "1"},
                   {"zero", "3"},
                   {"global_batch", "4096"}});
  return more;
}

TEST(RowMachine, MoreChipsThanAPodHasAreSlices) {
  const auto run = run_of(on_tpus("TPU-v5e", "1024"));
  const cluster::Node& node = run.cluster.groups.front().node;
  EXPECT_EQ(node.name, "tpu-v5e") << "its own node";
  EXPECT_EQ(node.domain(), 256);
  EXPECT_EQ(run.degrees.zero_group, 256) << "a copy on every slice";
  EXPECT_THAT(run.derived, ElementsAre("zero_group"));
  EXPECT_EQ(run_of(on_tpus("TPU-v5e", "256")).degrees.zero_group, 0);
}

TEST(RowMachine, APodIsCutIntoTheSlicesThatARowStates) {
  const auto run = run_of(on_tpus("TPU-v5p", "128", {{"slices", "2"}}));
  EXPECT_EQ(run.cluster.groups.front().node.domain(), 64);
  EXPECT_EQ(run.degrees.zero_group, 64);
  EXPECT_EQ(skipped_for(on_tpus("TPU-v5p", "128", {{"slices", "3"}})),
            "slices do not divide the devices");
}

TEST(RowMachine, HasHeadsAndWindowsAsStated) {
  const auto run = run_of({{"head_dim", "128"}, {"window", "256"}, {"full_interval", "2"}});
  EXPECT_EQ(run.model->transformer->head_dim, 128);
  EXPECT_EQ(run.model->transformer->window, 256);
  EXPECT_EQ(run.model->layer(1).name, "window_block");
  EXPECT_EQ(run.model->layer(2).name, "block");
}

TEST(RowMachine, TakesIntegersForOperands) {
  const auto run = run_of(on_tpus("TPU-v5p", "128", {{"precision", "int8"}}));
  EXPECT_EQ(run.degrees.precision, cluster::Precision::kInt8);
}

}  // namespace
}  // namespace nereus::calibrate::derive_plan_test
