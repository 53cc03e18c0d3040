#include "measure/shim_blocks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace nereus::measure::shim_blocks_test {
namespace {

const std::string kJob =
    R"({"job": {"torch": "1.13.0", "backend": "gloo", "parameters": 12, "samples": 8, "ranks": 2, )"
    R"("gpu": false, "loaders": 0, "counted": true, "unswitchable": ["send"], "files": 3}})"
    "\n";

std::string block(const std::string& name, int round, int rank, double seconds) {
  return R"({"block": ")" + name + R"(", "round": )" + std::to_string(round) + R"(, "rank": )" +
         std::to_string(rank) + R"(, "host": 0, "seconds": )" + std::to_string(seconds) +
         R"(, "slowest": 0, "bytes": 0, "count": 3})" + "\n";
}

std::string code_of(const std::string& text) {
  try {
    read_shim_blocks(text, "blocks.jsonl");
  } catch (const Errors& errors) {
    return errors.list().front().code;
  }
  return "";
}

TEST(ShimBlocks, AreReadAndWhatIsMissingIsExplained) {
  std::string text = kJob;
  for (int round = 0; round < 3; ++round)
    for (int rank = 0; rank < 2; ++rank)
      text += block("alone", round, rank, 0.1) + block("all", round, rank, 0.1);
  const ShimBlocks read = read_shim_blocks(text + R"({"block": "al)", "blocks.jsonl");
  EXPECT_EQ(read.job.backend, "gloo");
  EXPECT_EQ(read.times.size(), 12u);
  StallReport report = find_stalls(read.times);
  explain_missing(report, read.job);
  EXPECT_THAT(report.of(StallKind::kInterconnect).note,
              ::testing::HasSubstr("cannot be turned off"));
  EXPECT_THAT(report.notes, ::testing::Contains(::testing::HasSubstr("distributed.send")));
  EXPECT_THAT(report.of(StallKind::kPrepare).note, ::testing::HasSubstr("no torch DataLoader"));
}

TEST(ShimBlocks, SayWhatIsWrong) {
  EXPECT_EQ(code_of(""), "measure.blocks");
  EXPECT_EQ(code_of(block("all", 0, 0, 0.1)), "measure.blocks");
  EXPECT_EQ(code_of(kJob + block("all", 0, 2, 0.1)), "measure.blocks");
  EXPECT_EQ(code_of(kJob + block("some", 0, 0, 0.1)), "spec.choice");
  EXPECT_EQ(code_of(kJob + block("all", 0, 0, -0.1)), "spec.range");
  EXPECT_EQ(code_of(kJob + "{]\n"), "spec.syntax");
}

}  // namespace
}  // namespace nereus::measure::shim_blocks_test
