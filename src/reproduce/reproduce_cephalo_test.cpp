#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "reproduce/reproduce.hpp"

namespace nereus::app::reproduce_cephalo_test {
namespace {

// The exact layer times stand in the claims' notes as data/cephalo/cases.csv has them.
TEST(ReproduceCephalo, EveryCaseIsTheExactOptimum) {
  const ReproduceAnswer answer = reproduce({.system = "cephalo"});
  ASSERT_EQ(answer.claims.size(), 53u);
  int infeasible = 0;
  for (const Claim& claim : answer.claims) {
    if (!claim.ours) {
      ++infeasible;
      EXPECT_NE(claim.note.find("infeasible"), std::string::npos);
      continue;
    }
    const std::string before = "found ";
    const double exact = std::stod(claim.note.substr(claim.note.find(before) + before.size()));
    EXPECT_NEAR(*claim.ours, exact, 1e-4) << claim.name;
    const std::string full = "fullest device ";
    EXPECT_LE(std::stod(claim.note.substr(claim.note.find(full) + full.size())), 75.0)
        << claim.name;
  }
  EXPECT_EQ(infeasible, 1);
}

TEST(ReproduceCephalo, TheShippedExample) {
  const ReproduceAnswer answer =
      reproduce({.system = "cephalo", .overrides = {{"all.case", "gpt-2_7b-fp16-4gpus"}}});
  ASSERT_EQ(answer.claims.size(), 1u);
  EXPECT_NE(answer.claims[0].note.find("samples 13/12/34/5 in 1/2/1/1 micro-batches"),
            std::string::npos)
      << answer.claims[0].note;
}

TEST(ReproduceCephalo, InputsMoveTheClaims) {
  const auto ours = [](const char* field, const char* value) {
    return *reproduce({.system = "cephalo",
                       .overrides = {{"all.case", "gpt-2_7b-fp16-4gpus"}, {field, value}}})
                .claims.at(0)
                .ours;
  };
  EXPECT_NEAR(ours("all.limit", "0.75"), 342.2968, 1e-4);
  EXPECT_LT(ours("all.global_batch", "32"), 342);
  EXPECT_LT(ours("all.devices", "a6000 a6000 a6000 a6000"), 342);
  EXPECT_GT(ours("all.link_gib_s", "0.1"), 342);
  EXPECT_THROW(ours("all.limit", "2"), Errors);
  EXPECT_THROW(ours("all.devices", "l5"), Errors);
  EXPECT_THROW(ours("all.batch", "32"), Errors);
  EXPECT_THROW(ours("gpt.limit", "0.5"), Errors);
}

}  // namespace
}  // namespace nereus::app::reproduce_cephalo_test
