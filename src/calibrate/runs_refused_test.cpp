// Rows that are skipped, with the reason, and files that are no table of runs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"
#include "calibrate/runs_testing.hpp"

namespace nereus::calibrate::runs_refused_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using namespace testing;  // of this folder

// --- rows that are no use ------------------------------------------------------------------------

TEST(RunsSkipped, WhatIsNotStatedIsNamed) {
  for (const char* column : {"layers", "hidden", "heads", "seq", "gpu", "gpus", "tp", "pp", "dp",
                             "micro_batch", "global_batch", "precision"})
    EXPECT_EQ(skipped_for({{column, ""}}), fmt::format("{} not stated", column));
}

TEST(RunsSkipped, WhatCannotBePredicted) {
  EXPECT_EQ(skipped_for({{"task", "lora"}}), "not pre-training");
  EXPECT_EQ(skipped_for({{"task", "pretrain"}}), "used");
  EXPECT_EQ(skipped_for({{"gpu", "Abacus"}}), "unknown device Abacus");
  EXPECT_EQ(skipped_for({{"precision", "fp3"}}), "unknown precision fp3");
  EXPECT_THAT(skipped_for({{"precision", "fp8"}}), HasSubstr("has no fp8")) << "an A100 has none";
  EXPECT_EQ(skipped_for({{"heads", "7"}}), "not a model that can be");
  EXPECT_EQ(skipped_for({{"metric", "time_to_train_min"}}),
            "metric time_to_train_min gives no step time");
  EXPECT_EQ(skipped_for({{"value", ""}}), "metric iteration_s gives no step time");
  EXPECT_EQ(skipped_for({{"value", "-3"}}), "metric iteration_s gives no step time");
}

TEST(RunsSkipped, DegreesThatDoNotMultiplyToTheDevices) {
  const std::string why = "tp x pp x dp x cp is not the number of devices";
  EXPECT_EQ(skipped_for({{"tp", "3"}}), why);
  EXPECT_EQ(skipped_for({{"tp", "64"}}), why);
  EXPECT_EQ(skipped_for({{"tp", "1000000000"}, {"cp", "1000000000"}}), why) << "no overflow";
  EXPECT_EQ(run_of({{"dp", "2"}}).degrees.dp, 4) << "what the others leave";
  EXPECT_EQ(skipped_for({{"micro_batch", "9"}}), "micro_batch x dp exceeds global_batch");
  EXPECT_EQ(skipped_for({{"micro_batch", "1000000000"}}), "micro_batch x dp exceeds global_batch");
}

TEST(RunsSkipped, CellsThatAreNotTheNumbersTheyShouldBe) {
  EXPECT_THAT(skipped_for({{"tp", "two"}}), HasSubstr("tp is not a number"));
  EXPECT_THAT(skipped_for({{"pp", "1.5"}}), HasSubstr("pp is not a whole number"));
  EXPECT_THAT(skipped_for({{"dp", "-4"}}), HasSubstr("dp is not a whole number"));
  EXPECT_THAT(skipped_for({{"cp", "0"}}), HasSubstr("cp is not a whole number"));
  EXPECT_THAT(skipped_for({{"zero", "4"}}), HasSubstr("zero is not a whole number of 0 to 3"));
  EXPECT_THAT(skipped_for({{"value", "fast"}}), HasSubstr("value is not a number"));
  EXPECT_THAT(skipped_for({{"mem_gib_reported", "lots"}}), HasSubstr("mem_gib_reported is not"));
  EXPECT_THAT(skipped_for({{"vocab", "1e999"}}), HasSubstr("vocab is not a number"));
  EXPECT_THAT(skipped_for({{"value", "nan"}}), HasSubstr("value is not a number"));
  EXPECT_NE(skipped_for({{"layers", "999999999"}}), "used") << "a slip of the pen";
}

TEST(RunsSkipped, WordsThatNobodyKnows) {
  EXPECT_EQ(skipped_for({{"recompute", "most"}}),
            "recompute = most is none of none, selective, full");
  EXPECT_EQ(skipped_for({{"mlp", "wide"}}), "mlp = wide is none of plain, gated");
}

TEST(RunsSkipped, ABadCellIsFoundInEveryRowThatHasIt) {
  for (const Cells& bad : {Cells{{"mlp", "wide"}}, Cells{{"kv_heads", "some"}}}) {
    const RunTable table = parse({with(bad), with(bad), with({})});
    EXPECT_EQ(table.runs.size(), 1u) << bad.begin()->first;
    ASSERT_EQ(table.skipped.size(), 1u);
    EXPECT_EQ(table.skipped.begin()->second, 2);
  }
}

TEST(RunsSkipped, ReasonsAreCounted) {
  const RunTable table =
      parse({with({}), with({{"layers", ""}}), with({{"layers", ""}}), with({{"task", "sft"}})});
  EXPECT_EQ(table.rows, 4);
  EXPECT_EQ(table.runs.size(), 1u);
  EXPECT_THAT(table.skipped,
              ElementsAre(Pair("layers not stated", 2), Pair("not pre-training", 1)));
}

TEST(RunsSkipped, TablesAddUp) {
  RunTable all = parse({with({}), with({{"layers", ""}})});
  append(all, parse({with({}), with({}), with({{"layers", ""}}), with({{"task", "sft"}})}));
  EXPECT_EQ(all.rows, 6);
  EXPECT_EQ(all.runs.size(), 3u);
  EXPECT_THAT(all.skipped, ElementsAre(Pair("layers not stated", 2), Pair("not pre-training", 1)));
}

// --- files that are no such table ----------------------------------------------------------------

std::string message_of(const std::string& text) {
  try {
    parse_runs(spec::parse_csv(text, "bad.csv"), "test", test_library());
  } catch (const Errors& errors) {
    return errors.what();
  }
  return "no error";
}

TEST(RunsErrors, AllMissingColumnsAreNamed) {
  const std::string message = message_of("model,layers,hidden,seq\nm,1,2,3\n");
  for (const char* column : {"heads", "gpu", "gpus", "metric", "value"})
    EXPECT_THAT(message, HasSubstr(column));
}

TEST(RunsErrors, ARaggedRowIsAnErrorWithItsLine) {
  std::string text = csv_of({with({}), with({})});
  text.insert(text.size() - 1, ",more");
  EXPECT_THAT(message_of(text), HasSubstr("bad.csv:3"));
}

TEST(RunsErrors, NoFileOrADirectoryOrNothingInIt) {
  const cost::StackLibrary library = test_library();
  EXPECT_THROW(read_runs("no/such/runs.csv", library), Errors);
  EXPECT_THROW(read_runs(TemporaryFolder().path(), library), Errors);
  EXPECT_NE(message_of(""), "no error");
}

}  // namespace
}  // namespace nereus::calibrate::runs_refused_test
