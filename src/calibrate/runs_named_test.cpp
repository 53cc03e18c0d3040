// Rows that describe their model by its name in the catalog alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/runs.hpp"
#include "calibrate/runs_testing.hpp"

namespace nereus::calibrate::runs_named_test {
namespace {

using namespace testing;  // of this folder
using ::testing::ElementsAre;
using ::testing::Pair;

// 2,048 pictures on the eight devices of a node.
Cells resnet_row() {
  return {{"model", "resnet50"},       {"gpu", "A100-80GB"},  {"gpus", "8"},
          {"micro_batch", "256"},      {"precision", "tf32"}, {"global_batch", "2048"},
          {"metric", "samples_per_s"}, {"value", "8192"}};
}

RunTable parsed(const std::vector<Cells>& rows) {
  return parse_runs(spec::parse_csv(csv_of(rows), "named.csv"), "named", test_library());
}

TEST(RunsNamed, HaveTheModelOfTheCatalogAndDataParallelismAlone) {
  const RunTable table = parsed({resnet_row()});
  ASSERT_EQ(table.runs.size(), 1u) << reasons(table);
  const auto& run = table.runs.front();
  EXPECT_EQ(run.model->family, "resnet");
  EXPECT_EQ(run.degrees.tp, 1);
  EXPECT_EQ(run.degrees.pp, 1);
  EXPECT_EQ(run.degrees.dp, 8);
  EXPECT_DOUBLE_EQ(run.step, 0.25) << "2,048 samples at 8,192 per second";
}

TEST(RunsNamed, TakeTheRowsSequence) {
  Cells row = resnet_row();
  row["model"] = "bert-large";
  row["micro_batch"] = "8";
  row["global_batch"] = "64";
  row["seq"] = "128";
  const RunTable table = parsed({row});
  ASSERT_EQ(table.runs.size(), 1u) << reasons(table);
  EXPECT_EQ(table.runs.front().model->tokens_per_sample, 128);
}

TEST(RunsNamed, TakeTheRowsSplitOfTables) {
  Cells row = resnet_row();
  row["model"] = "dlrm";
  row["ep"] = "8";
  row["table_split"] = "row";
  const RunTable table = parsed({row});
  ASSERT_EQ(table.runs.size(), 1u) << reasons(table);
  EXPECT_EQ(table.runs.front().degrees.table_split, plan::TableSplit::kRow);
  EXPECT_EQ(table.runs.front().degrees.ep, 8);
  EXPECT_EQ(table.runs.front().stack, "generic") << "this library has no stack for tables";
  const RunTable known =
      parse_runs(spec::parse_csv(csv_of({row}), "named.csv"), "named", cost::builtin_stacks());
  ASSERT_EQ(known.runs.size(), 1u);
  EXPECT_EQ(known.runs.front().stack, "recommender") << "as predict";
}

TEST(RunsNamed, AreSkippedWhereTheNameIsUnknown) {
  Cells row = resnet_row();
  row["model"] = "resnet51";
  EXPECT_THAT(parsed({row}).skipped, ElementsAre(Pair("unknown model resnet51", 1)));
}

TEST(RunsNamed, StateTheirBatch) {
  Cells row = resnet_row();
  row["micro_batch"] = "";
  EXPECT_THAT(parsed({row}).skipped, ElementsAre(Pair("micro_batch not stated", 1)));
}

// The mean of errors would be no number if one of them were none.
TEST(RunsNamed, AreSkippedBeyondADomainWithoutANetwork) {
  Cells row = resnet_row();
  row["gpu"] = "TPU-v4";
  row["precision"] = "bf16";
  row["micro_batch"] = "2";
  row["gpus"] = "4096";
  row["global_batch"] = "16384";
  EXPECT_EQ(parsed({row}).runs.size(), 1u) << "one domain";
  row["gpus"] = "8192";
  EXPECT_THAT(parsed({row}).skipped, ElementsAre(Pair("tpu-v4 has no network", 1)));
}

TEST(RunsNamed, OfDifferentSoftwareAreNotRankedTogether) {
  Cells other = resnet_row(), one = resnet_row();
  one["framework"] = "PyTorch";
  other["framework"] = "MXNet";
  const RunTable table = parsed({one, other});
  ASSERT_EQ(table.runs.size(), 2u) << reasons(table);
  EXPECT_NE(table.runs[0].ranking_group, table.runs[1].ranking_group);
}

}  // namespace
}  // namespace nereus::calibrate::runs_named_test
