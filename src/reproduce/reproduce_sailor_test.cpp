#include <gtest/gtest.h>

#include "app/predict/predict_plan.hpp"
#include "base/error.hpp"
#include "base/temporary_folder.hpp"
#include "reproduce/reproduce.hpp"
#include "reproduce/sailor_runs.hpp"
#include "tests/source_dir.hpp"

namespace nereus::app::reproduce_sailor_test {
namespace {

using Overrides = std::vector<std::pair<std::string, std::string>>;

ReproduceAnswer sailor(const Overrides& overrides = {}) {
  return reproduce({.system = "sailor", .overrides = overrides});
}

double ours(const ReproduceAnswer& answer, const std::string& name) {
  for (const Claim& claim : answer.claims)
    if (claim.name == name) return *claim.ours;
  ADD_FAILURE() << "no claim " << name;
  return 0;
}

// What is asked of predictions from published profiles: 20 % and 0.8. They were this good at the
// first try (docs/mixed.md), and nothing may be fitted to these runs to keep them so. Bounds are at
// most 1.2 times what comes out today: 2.9 %, 26.7 %, 0.971; 5.9 %, 0.968.
TEST(ReproduceSailor, MeasuredStepsOfMixedMachinesArePredicted) {
  const ReproduceAnswer answer = sailor();
  EXPECT_TRUE(answer.complete);
  EXPECT_LT(ours(answer, "mixed machines: median error"), 3.4);
  EXPECT_LT(ours(answer, "mixed machines: largest error"), 30);
  EXPECT_GT(ours(answer, "mixed machines: rank correlation"), 0.966);
  EXPECT_LT(ours(answer, "equal machines: median error"), 7);
  EXPECT_GT(ours(answer, "equal machines: rank correlation"), 0.962);
}

TEST(ReproduceSailor, RunsAreCountedOnce) {
  int mixed = 0, equal = 0, suspect = 0;
  for (const SailorRun& run : read_sailor_runs()) {
    if (!run.suspect.empty())
      ++suspect;
    else
      ++(run.is_mixed() ? mixed : equal);
    int layers = 0;
    for (const int of_stage : run.layers) layers += of_stage;
    EXPECT_EQ(layers, 26) << run.name;
  }
  EXPECT_EQ(mixed, 17);
  EXPECT_EQ(equal, 15);
  EXPECT_EQ(suspect, 1);
}

// The same numbers from a user's call of `predict PLAN --stack --profile`.
TEST(ReproduceSailor, PlanFilesPredictTheSame) {
  const TemporaryFolder folder;
  const ReproduceAnswer answer =
      sailor({{"all.machines", "ampere"}, {"all.plans", folder / "plans"}});
  const std::vector<SailorRun> runs = read_sailor_runs();
  std::size_t compared = 0;
  for (const SailorRun& run : runs) {
    if (run.machines != "ampere") continue;
    PredictRequest request;
    request.plan_file = folder / ("plans/" + run.name + ".plan");
    request.calibration.stack = source_dir() + "/data/sailor/stack.toml";
    for (const char* device : {"RTX-3090", "RTX-2080", "Titan-RTX"})
      if (run.teams_text.find(device) != std::string::npos)
        request.calibration.profiles.push_back(source_dir() + "/data/profiles/sailor/OPT-350/" +
                                               device + "/profile.json");
    const PredictAnswer predicted = predict(request);
    EXPECT_NEAR(predicted.prediction.step, *answer.claims.at(compared).ours, 1e-9) << run.name;
    for (const LayerSource& source : predicted.sources)
      EXPECT_EQ(source.kind, LayerSource::Kind::kMeasured) << source.layer << ", " << run.name;
    ++compared;
  }
  EXPECT_EQ(compared, 9u);
}

TEST(ReproduceSailor, InputsMoveTheClaims) {
  const auto step = [](Overrides overrides) {
    overrides.emplace_back("all.run", "ampere-pp4");
    const ReproduceAnswer answer = sailor(overrides);
    EXPECT_EQ(answer.claims.size(), 1u);  // one run has no order
    return answer.claims.at(0).ours.value_or(0);
  };
  const double usual = step({});
  // The network was measured: what a stack takes off a data sheet's rate makes it slower.
  EXPECT_GT(step({{"all.stack", "megatron-deepspeed"}}), usual * 1.1);
  EXPECT_NE(step({{"all.profiles", "none"}}), usual);
  EXPECT_THROW(step({{"all.profiles", "guessed"}}), Errors);
  EXPECT_THROW(step({{"all.machines", "turing"}}), Errors);
  EXPECT_THROW(sailor({{"all.run", "ampere-pp5"}}), Errors);
  EXPECT_THROW(sailor({{"all.batch", "5"}}), Errors);
}

std::string row(const std::string& middle) {
  return "name,machines,tp,micro_batch,global_batch,layers,teams,measured_s,reduce_s,memory_b,path,"
         "commit,suspect\nr,turing," +
         middle + ",1.5,0,,p,c,\n";
}

TEST(ReproduceSailor, RowsThatAreNoPlanAreErrors) {
  EXPECT_EQ(parse_sailor_runs(row("4,1,8,12/14,2xTitan-RTX/RTX-2080 Titan-RTX"), "runs.csv")
                .at(0)
                .teams.at(1)
                .size(),
            2u);
  for (const char* wrong :
       {"0,1,8,26,RTX-2080", "4,1,8,12/14,RTX-2080", "4,1,8,12/14,2xRTX-2080/RTX-2080",
        "4,3,8,26,RTX-2080", "4,1,8,26,0xRTX-2080", "4,1,8,x,RTX-2080", "4,1,8,26,"})
    EXPECT_THROW(parse_sailor_runs(row(wrong), "runs.csv"), Errors) << wrong;
  SailorRun run = read_sailor_runs().front();
  run.layers = {12, 13};
  EXPECT_THROW(plan_of(run), Errors);
  run = read_sailor_runs().front();
  run.machines = "alps";
  EXPECT_THROW(plan_of(run), Errors);
}

}  // namespace
}  // namespace nereus::app::reproduce_sailor_test
