#include "reproduce/reproduce_deeppool.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "app/predict/samples_to_target.hpp"
#include "base/embedded.hpp"
#include "base/error.hpp"
#include "reproduce/deeppool_models.hpp"
#include "search/burst/burst_front.hpp"
#include "search/burst/deeppool_rule.hpp"
#include "spec/csv.hpp"

namespace nereus::app::reproduce_deeppool_test {
namespace {

ReproduceAnswer reproduce_part(const std::string& part,
                               std::vector<std::pair<std::string, std::string>> more = {}) {
  more.emplace_back("all.part", part);
  return reproduce_deeppool({.system = "deeppool", .overrides = std::move(more)});
}

TEST(ReproduceDeepPool, DataParallelVggIsWithinThreePercentOfTheLog) {
  const ReproduceAnswer answer = reproduce_part("log");
  ASSERT_EQ(answer.claims.size(), 1U);
  EXPECT_EQ(answer.claims[0].published, 13.57);
  EXPECT_NEAR(*answer.claims[0].ours / 13.57, 1, 0.03);
}

TEST(ReproduceDeepPool, FrontIsBeforeTheRuleEverywhere) {
  const ReproduceAnswer answer = reproduce_part("rule");
  ASSERT_EQ(answer.claims.size(), 54U);
  int better = 0;
  for (const Claim& claim : answer.claims) {
    EXPECT_LE(*claim.ours, *claim.published * (1 + 1e-9)) << claim.name;
    better += *claim.ours < *claim.published * 0.99 ? 1 : 0;
  }
  EXPECT_GT(better, 15);
}

// Of a part that has nothing to say about a profile a note says why.
TEST(ReproduceDeepPool, SaysWhyAProfileHasNoRows) {
  const auto says = [](const ReproduceAnswer& answer, const char* part) {
    return std::any_of(answer.notes.begin(), answer.notes.end(), [&](const std::string& note) {
      return note.rfind(std::string(part) + ": ", 0) == 0;
    });
  };
  for (const char* part : {"rule", "log"}) {
    const ReproduceAnswer none = reproduce_part(part, {{"all.profile", "A100_inception"}});
    EXPECT_TRUE(none.claims.empty()) << part;
    EXPECT_TRUE(says(none, part)) << part;
    const ReproduceAnswer some = reproduce_part(part, {{"all.profile", "A100_vgg"}});
    EXPECT_FALSE(some.claims.empty()) << part;
    EXPECT_FALSE(says(some, part)) << part;
  }
}

// Rule and front to every digit of a program that is not this one.
TEST(ReproduceDeepPool, RuleAndFrontAgreeWithAnotherProgram) {
  std::string_view text;
  for (const EmbeddedFile& file : embedded_files())
    if (file.path == "deeppool/rule_plans.csv") text = file.text;
  const spec::Csv csv = spec::parse_csv(text, "rule_plans.csv");
  ASSERT_GE(csv.rows.size(), 10U);
  const auto number = [&](const spec::CsvRow& row, const char* name) {
    return std::stod(std::string(csv.cell(row, csv.find(name))));
  };
  for (const spec::CsvRow& row : csv.rows) {
    const std::string limit(csv.cell(row, csv.find("limit")));
    const DeepPoolModel model = deeppool_model(std::string(csv.cell(row, csv.find("profile"))));
    const int batch = static_cast<int>(number(row, "global_batch"));
    const burst::Problem problem =
        burst::make_problem(model.blocks, model.edges, burst::deeppool_prices(266e9, 40e-6), batch,
                            burst::powers_of_two(batch, static_cast<int>(number(row, "ranks"))));
    const burst::BurstPlan rule =
        limit == "data-parallel"
            ? burst::evaluate(problem,
                              std::vector<int>(problem.blocks.size(), problem.num_candidates() - 1))
            : burst::evaluate(
                  problem, burst::deeppool_rule(problem, limit == "inf" ? 1e99 : std::stod(limit)));
    EXPECT_NEAR(rule.seconds * 1e3, number(row, "rule_ms"), 6e-4);
    EXPECT_NEAR(rule.rank_seconds * 1e3, number(row, "rule_rank_ms"), 6e-3);
    double best = 1e9, least = 1e9;
    for (const burst::BurstPlan& own : burst::solve(problem).plans) {
      if (own.rank_seconds <= rule.rank_seconds * (1 + 1e-9)) best = std::min(best, own.seconds);
      if (own.seconds <= rule.seconds * (1 + 1e-9)) least = std::min(least, own.rank_seconds);
    }
    EXPECT_NEAR(best * 1e3, number(row, "best_ms"), 6e-4);
    EXPECT_NEAR(least * 1e3, number(row, "least_rank_ms"), 6e-3);
  }
}

TEST(ReproduceDeepPool, InputsMoveTheClaims) {
  const ReproduceAnswer slow = reproduce_part("log", {{"all.bandwidth_gb_s", "10"}});
  EXPECT_GT(*slow.claims[0].ours, 20);
  EXPECT_THROW(reproduce_part("nothing"), Errors);
  EXPECT_THROW(reproduce_part("log", {{"all.bandwidth", "10"}}), Errors);
  EXPECT_THROW(reproduce_part("log", {{"all.counts", "odd"}}), Errors);
  EXPECT_THROW(reproduce_part("log", {{"all.counts", ""}}), Errors);
  EXPECT_THROW(reproduce_part("log", {{"all.ranks", "1.5"}}), Errors);
  EXPECT_THROW(reproduce_part(""), Errors);
}

TEST(SamplesToTargets, TakesTwiceTheLeastAtTheCriticalBatch) {
  const SamplesToTarget own = read_samples_to_target("1e6:500");
  EXPECT_EQ(own.samples(500), 2e6);
  const SamplesToTarget resnet = read_samples_to_target("resnet");
  // MLPerf's reference runs: 35.0 epochs at 1,632 and 84.5 at 65,536 samples.
  EXPECT_NEAR(resnet.samples(1632) / 1281167, 35.0, 0.06 * 35);
  EXPECT_NEAR(resnet.samples(65536) / 1281167, 84.5, 0.06 * 84.5);
  EXPECT_THROW(read_samples_to_target("resnett"), Errors);
  EXPECT_THROW(read_samples_to_target("1e6:none"), Errors);
}

}  // namespace
}  // namespace nereus::app::reproduce_deeppool_test
