#include "calibrate/runs.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.hpp"
#include "calibrate/runs_testing.hpp"
#include "cluster/catalogue.hpp"

namespace nereus::calibrate::runs_test {
namespace {

using cluster::Precision;
using plan::Attention;
using plan::Recompute;
using namespace testing;  // of this folder
using ::testing::HasSubstr;

// Of the base row: forward and backward of 32 samples, head of 1000 words included.
double model_flops() {
  const double l = 4, h = 1024, s = 2048, v = 1000;
  return 32 * s * (6 * (l * 12 * h * h + v * h) + 12 * l * h * s);
}

// --- stacks by release ------------------------------------------------------------------------

TEST(RunsStack, IsThatOfTheRelease) {
  const auto stack = [](const char* date, const char* graphs) {
    return run_of({{"stack", "dated"}, {"software_date", date}, {"cuda_graphs", graphs}}).stack;
  };
  EXPECT_EQ(stack("24.12", ""), "dated-old");
  EXPECT_EQ(stack("2024-03", ""), "dated-old");
  EXPECT_EQ(stack("25.01", ""), "dated");
  EXPECT_EQ(stack("2025-02", ""), "dated");
  EXPECT_EQ(stack("26.04.01", "no"), "dated");
  EXPECT_EQ(stack("26.06.01", ""), "dated-new");
  EXPECT_EQ(stack("26.08", "yes"), "dated-new");
  EXPECT_EQ(stack("26.08", "no"), "dated");
  EXPECT_EQ(stack("", ""), "dated") << "no date: the name as it stands";
}

TEST(RunsStack, SaysHowExpertsAreCutAndWhatOverlaps) {
  const Cells experts = {{"stack", "dated"}, {"experts", "4"}, {"top_k", "1"}, {"ep", "2"}};
  Cells old = experts;
  old["software_date"] = "24.12";
  EXPECT_EQ(run_of(old).degrees.expert_tp, 2) << "as tp";
  EXPECT_EQ(run_of(experts).degrees.expert_tp, 1);
  EXPECT_FALSE(run_of(experts).degrees.tensor_overlap);
  Cells fresh = experts;
  fresh["software_date"] = "26.06";
  EXPECT_TRUE(run_of(fresh).degrees.tensor_overlap);
  fresh["tp_overlap"] = "no";
  EXPECT_FALSE(run_of(fresh).degrees.tensor_overlap);
}

// --- measured step -------------------------------------------------------------------------------

TEST(RunsMetric, IterationTimeIsTheStep) { EXPECT_EQ(run_of({}).step, 1.5); }

TEST(RunsMetric, TokensPerSecondPerDevice) {
  // 32 samples of 2048 tokens; 16 devices at 100 tokens a second each.
  const auto run = run_of({{"metric", "tokens_per_s_per_gpu"}, {"value", "100"}});
  EXPECT_DOUBLE_EQ(run.step, 32.0 * 2048 / 1600);
}

TEST(RunsMetric, TeraflopsPerDevice) {
  const Cells row = {{"metric", "tflops_per_gpu"}, {"value", "100"}};
  EXPECT_DOUBLE_EQ(run_of(row).step, model_flops() / (100e12 * 16));
  Cells recomputed = row;
  recomputed["recompute"] = "full";
  EXPECT_DOUBLE_EQ(run_of(recomputed).step, model_flops() * 4 / 3 / (100e12 * 16))
      << "throughput counts the second forward pass";
  recomputed["recompute"] = "selective";
  EXPECT_DOUBLE_EQ(run_of(recomputed).step, run_of(row).step);
}

TEST(RunsMetric, TheSourcesOwnStepTimeWinsOverItsTeraflops) {
  EXPECT_EQ(
      run_of({{"metric", "tflops_per_gpu"}, {"value", "100"}, {"iteration_s_reported", "7.25"}})
          .step,
      7.25);
}

TEST(RunsMetric, UtilizationOfThePeak) {
  // A100: 312 TFLOP/s in bf16.
  const double at_peak = model_flops() / (312e12 * 16);
  EXPECT_DOUBLE_EQ(run_of({{"metric", "mfu"}, {"value", "40"}}).step, at_peak / 0.4);
  EXPECT_DOUBLE_EQ(run_of({{"metric", "hfu"}, {"value", "40"}}).step, at_peak / 0.4);
  EXPECT_DOUBLE_EQ(run_of({{"metric", "mfu"}, {"value", "40"}, {"recompute", "full"}}).step,
                   at_peak / 0.4)
      << "model FLOPs know no recompute";
  EXPECT_DOUBLE_EQ(run_of({{"metric", "hfu"}, {"value", "40"}, {"recompute", "full"}}).step,
                   at_peak / 0.4 * 4 / 3);
}

TEST(RunsMetric, FailedHasNoStep) {
  const auto run = run_of({{"metric", "failed"}, {"value", ""}});
  EXPECT_TRUE(run.failed);
  EXPECT_EQ(run.step, 0);
  EXPECT_FALSE(run_of({}).failed);
}

TEST(RunsMetric, MemoryIsInGib) {
  EXPECT_EQ(run_of({{"mem_gib_reported", "40.5"}}).memory, 40.5 * kGiB);
  EXPECT_EQ(run_of({}).memory, 0);
}

// --- defaults and names --------------------------------------------------------------------------

TEST(RunsDefaults, BlankFieldsTakeTheStacksOwn) {
  const auto plain = run_of({});
  EXPECT_EQ(plain.stack, "generic") << "no stack stated";
  EXPECT_EQ(plain.model->transformer->vocab, 1000);
  EXPECT_EQ(plain.model->transformer->ffn, 4096);
  EXPECT_TRUE(plain.model->transformer->tied_embeddings);
  EXPECT_TRUE(plain.model->transformer->bias);
  EXPECT_EQ(plain.degrees.interleave, 1);
  EXPECT_EQ(plain.degrees.schedule, plan::Schedule::k1f1b);
  EXPECT_EQ(plain.degrees.zero, 0);
  EXPECT_EQ(plain.degrees.recompute, Recompute::kNone);
  EXPECT_TRUE(plain.degrees.sequence_parallel);
  EXPECT_EQ(plain.attention, Attention::kFlash);

  const auto tuned = run_of({{"stack", "tuned"}});
  EXPECT_EQ(tuned.stack, "tuned");
  EXPECT_EQ(tuned.model->transformer->vocab, 2000);
  EXPECT_FALSE(tuned.model->transformer->tied_embeddings);
  EXPECT_FALSE(tuned.model->transformer->bias);
  EXPECT_EQ(tuned.degrees.interleave, 2);
  EXPECT_EQ(tuned.degrees.schedule, plan::Schedule::kInterleaved);
  EXPECT_EQ(tuned.degrees.zero, 1);
  EXPECT_EQ(tuned.degrees.recompute, Recompute::kFull);
  EXPECT_FALSE(tuned.degrees.sequence_parallel);
  EXPECT_EQ(tuned.attention, Attention::kUnfused);
}

TEST(RunsDefaults, StatedFieldsWin) {
  const auto run = run_of({{"stack", "tuned"},
                           {"vocab", "3000"},
                           {"tied_embeddings", "yes"},
                           {"vpp", "1"},
                           {"zero", "2"},
                           {"recompute", "selective"},
                           {"sequence_parallel", "yes"},
                           {"attention", "flash"},
                           {"tp_overlap", "yes"}});
  EXPECT_EQ(run.model->transformer->vocab, 3000);
  EXPECT_TRUE(run.model->transformer->tied_embeddings);
  EXPECT_EQ(run.degrees.interleave, 1);
  EXPECT_EQ(run.degrees.zero, 2);
  EXPECT_EQ(run.degrees.recompute, Recompute::kSelective);
  EXPECT_TRUE(run.degrees.sequence_parallel);
  EXPECT_TRUE(run.degrees.tensor_overlap);
  EXPECT_EQ(run.attention, Attention::kFlash);
}

TEST(RunsDefaults, OnlyAPipelineInterleavesAndOnlyTensorRanksSplitTheSequence) {
  const auto run = run_of(
      {{"stack", "tuned"}, {"pp", "1"}, {"tp", "1"}, {"dp", "16"}, {"sequence_parallel", "yes"}});
  EXPECT_EQ(run.degrees.interleave, 1);
  EXPECT_FALSE(run.degrees.sequence_parallel);
}

TEST(RunsDefaults, AGatedModelIsALlama) {
  const auto run = run_of({{"mlp", "gated"}, {"ffn", "2816"}, {"kv_heads", "4"}});
  const model::TransformerShape& shape = *run.model->transformer;
  EXPECT_TRUE(shape.gated_mlp);
  EXPECT_FALSE(shape.bias);
  EXPECT_FALSE(shape.tied_embeddings);
  EXPECT_EQ(shape.norm, model::NormKind::kRmsNorm);
  EXPECT_EQ(shape.position, model::PositionKind::kRotary);
  EXPECT_EQ(shape.kv_heads, 4);
  EXPECT_EQ(shape.ffn, 2816);
}

TEST(RunsDefaults, UnknownStacksCountAsTheFallback) {
  EXPECT_EQ(run_of({{"stack", "nobody's"}}).stack, "generic");
  const spec::Csv csv = spec::parse_csv(csv_of({with({{"stack", "nobody's"}})}), "test.csv");
  EXPECT_EQ(parse_runs(csv, "test", test_library(), "tuned").runs.at(0).stack, "tuned");
}

TEST(RunsDefaults, AColumnMaySendRowsToAVariant) {
  EXPECT_EQ(run_of({{"stack", "tuned"}, {"compile", "yes"}}).stack, "tuned-compile");
  EXPECT_EQ(run_of({{"stack", "tuned"}, {"compile", "no"}}).stack, "tuned");
  EXPECT_EQ(run_of({{"stack", "generic"}, {"compile", "yes"}}).stack, "generic");
}

TEST(RunsDefaults, HsdpShardsInsideANode) {
  const auto run = run_of({{"zero", "HSDP"}, {"tp", "1"}, {"pp", "1"}, {"dp", "16"}});
  EXPECT_EQ(run.degrees.zero, 3);
  EXPECT_EQ(run.degrees.zero_group, 8) << "an A100 node has eight";
  const auto few = run_of({{"zero", "HSDP"}, {"tp", "1"}, {"pp", "1"}, {"dp", "4"}, {"gpus", "4"}});
  EXPECT_EQ(few.degrees.zero_group, 4);
  EXPECT_EQ(run_of({{"zero", "3"}}).degrees.zero_group, 0) << "all of them";
}

TEST(RunsDefaults, HsdpFollowsTheDataDegreeThatTheDevicesLeave) {
  const auto run = run_of({{"zero", "HSDP"}, {"tp", "1"}, {"pp", "1"}, {"dp", "2"}});
  EXPECT_EQ(run.degrees.dp, 16);
  EXPECT_EQ(run.degrees.zero_group, 8);
}

TEST(RunsDefaults, TheSetsSiteGivesTheNetwork) {
  const auto ours = run_of({{"set", "ours"}});
  EXPECT_EQ(ours.site, "lab");
  EXPECT_EQ(ours.cluster.groups.front().node.network.value, 33e9);
  const auto other = run_of({{"set", "theirs"}});
  EXPECT_EQ(other.site, "");
  EXPECT_NE(other.cluster.groups.front().node.network.value, 33e9);
  EXPECT_EQ(other.cluster.num_devices(), 16);
}

TEST(RunsDefaults, AColumnMayNameTheNode) {
  const auto run = run_of({{"node", "p4d.24xlarge"}});
  const cluster::Node* p4d = cluster::builtin_catalogue().find_node("p4d.24xlarge");
  ASSERT_NE(p4d, nullptr);
  const cluster::Node& node = run.cluster.groups.front().node;
  EXPECT_EQ(node.name, p4d->name);
  EXPECT_EQ(node.network, p4d->network);
  EXPECT_NE(node.network, run_of({}).cluster.groups.front().node.network);
  EXPECT_EQ(skipped_for({{"node", "abacus"}}), "unknown node abacus");
}

TEST(RunsDefaults, ADeviceThatNoKnownMachineIsBuiltOfNeedsANode) {
  EXPECT_THAT(skipped_for({{"gpu", "MI250X"}}), HasSubstr("no reference node of MI250X"));
}

// Four blocks of 1024: 12 h^2 each if plain, 16 h^2 if gated (the feed-forward is 4 h both ways).
TEST(RunsDefaults, ABlankMlpIsTheKindThatTheParametersSay) {
  const double h = 1024;
  const auto gated = [&](double params) {
    return run_of({{"params_b", fmt::format("{}", params / 1e9)}}).model->transformer->gated_mlp;
  };
  EXPECT_FALSE(gated(4 * 12 * h * h + 1000 * h));
  EXPECT_TRUE(gated(4 * 16 * h * h + 2 * 1000 * h));
  EXPECT_FALSE(run_of({}).model->transformer->gated_mlp);
  EXPECT_FALSE(run_of({{"mlp", "plain"}, {"params_b", "1"}}).model->transformer->gated_mlp)
      << "what is stated wins";
}

TEST(RunsDefaults, WithoutASetTheFilesNameIsTheSet) {
  EXPECT_EQ(run_of({}).set, "test");
  EXPECT_EQ(run_of({{"set", "ours"}}).set, "ours");
}

TEST(RunsDefaults, RowsRememberWhereTheyStood) {
  const RunTable table =
      parse({with({{"layers", ""}}), with({}), with({{"suspect", "slow-twin"}})});
  ASSERT_EQ(table.runs.size(), 2u);
  EXPECT_EQ(table.rows, 3);
  EXPECT_EQ(table.runs[0].file, "test.csv");
  EXPECT_EQ(table.runs[0].line, 3);
  EXPECT_EQ(table.runs[1].line, 4);
  EXPECT_EQ(table.runs[1].suspect, "slow-twin");
  EXPECT_EQ(table.runs[0].suspect, "");
  EXPECT_EQ(table.runs[0].model, table.runs[1].model) << "one model for equal shapes";
}

TEST(RunsDefaults, AliasesOfDevicesAndPrecisionsAreUnderstood) {
  const auto run = run_of({{"gpu", "a100_80gb"}, {"precision", "amp_bf16"}});
  EXPECT_EQ(run.degrees.precision, Precision::kBf16);
  EXPECT_EQ(run.cluster.groups.front().node.device.short_name,
            run_of({}).cluster.groups.front().node.device.short_name);
  EXPECT_EQ(run_of({{"gpu", "H100"}, {"precision", "FP8-CS"}}).degrees.precision, Precision::kFp8);
}

// --- groups --------------------------------------------------------------------------------------

TEST(RunsGroups, ComparableRunsShareARankingGroup) {
  const std::string base = run_of({}).ranking_group;
  EXPECT_EQ(run_of({{"tp", "4"}, {"dp", "2"}}).ranking_group, base);
  EXPECT_EQ(run_of({{"micro_batch", "1"}, {"recompute", "full"}}).ranking_group, base);
  const Cells others[] = {{{"set", "ours"}},
                          {{"model", "n"}},
                          {{"layers", "8"}},
                          {{"hidden", "2048"}},
                          {{"seq", "1024"}},
                          {{"gpu", "H100"}},
                          {{"gpus", "32"}, {"dp", "8"}},
                          {{"global_batch", "64"}},
                          {{"precision", "fp16"}}};
  for (const Cells& other : others)
    EXPECT_NE(run_of(other).ranking_group, base) << other.begin()->first;
}

TEST(RunsGroups, AModelOfASetIsHeldOutAsOne) {
  const std::string base = run_of({}).suite;
  EXPECT_EQ(run_of({{"tp", "4"}, {"dp", "2"}, {"seq", "1024"}}).suite, base);
  EXPECT_NE(run_of({{"model", "n"}}).suite, base);
  EXPECT_NE(run_of({{"set", "ours"}}).suite, base);
}

}  // namespace
}  // namespace nereus::calibrate::runs_test
