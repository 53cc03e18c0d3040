#include "search/explore/point.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "search/explore/answers.hpp"
#include "search/explore/candidates.hpp"
#include "search/explore/explore_testing.hpp"
#include "search/explore/row.hpp"
#include "search/explore/sensitivity.hpp"

namespace nereus::explore::point_test {
namespace {

// Every strategy of a point, predicted one by one.
std::vector<cost::Prediction> predict_all(const Study& study, const cluster::Cluster& cluster) {
  const Variant& variant = study.variants[0];
  search::Choices choices = study.strategy.choices;
  choices.global_batch = variant.global_batch;
  choices.precision = variant.precision;
  const search::Space space(choices, variant.model, cluster);
  cost::Predictor predictor(variant.model, cluster, study.machines[0].basis_for(variant));
  std::vector<cost::Prediction> out;
  for (const plan::Degrees& d : list_candidates(space)) out.push_back(predictor.predict(d));
  EXPECT_EQ(static_cast<std::int64_t>(out.size()), count_candidates(space));
  return out;
}

TEST(Point, TheBestIsTheBestOfAll) {
  const Study study = study_of(small_study());
  Explorer explorer(study);
  for (std::int64_t p = 0; p < study.num_points(); ++p) {
    const auto cluster = cluster_at(study, coordinates(study, p));
    const PointResult result = explorer.evaluate(p);
    double best = 1e300;
    double beyond = 1e300;
    for (const cost::Prediction& own : predict_all(study, *cluster))
      (own.fits ? best : beyond) = std::min(own.fits ? best : beyond, own.step);
    ASSERT_EQ(result.status, Status::kFound);
    EXPECT_EQ(result.found.front().step, best);
    EXPECT_EQ(result.beyond, beyond < best ? beyond : 0);
  }
}

// Both ways to look at a space give the same: predicted whole, and searched.
TEST(Point, ListedAndSearchedAgree) {
  const std::string text = R"(
stack = "megatron"
[workload]
model = "gpt2-xl"
global_batch = 128
[cluster]
base = "4xdgx-a100-80"
[axes]
memory = ["4 GiB", "8 GiB", "20 GiB", "80 GiB"]
network_bandwidth = ["1 GB/s", "25 GB/s"]
[strategy]
cp = 1
interleave = 1
)";
  const Study study = study_of(text);
  ASSERT_EQ(study.num_points(), 8);
  Explorer explorer(study);
  for (std::int64_t p = 0; p < study.num_points(); ++p) {
    const auto cluster = cluster_at(study, coordinates(study, p));
    const PointResult result = explorer.evaluate(p);
    ASSERT_GT(result.strategies, 512) << "this study must be searched";
    double best = 1e300;
    double beyond = 1e300;
    for (const cost::Prediction& own : predict_all(study, *cluster))
      (own.fits ? best : beyond) = std::min(own.fits ? best : beyond, own.step);
    if (best == 1e300) {
      EXPECT_EQ(result.status, Status::kNothingFits);
      continue;
    }
    ASSERT_EQ(result.status, Status::kFound);
    EXPECT_EQ(result.found.front().step, best);
    EXPECT_EQ(result.beyond, beyond < best ? beyond : 0);
  }
}

TEST(Point, ConstraintsExclude) {
  Study study = study_of(small_study());
  Explorer free(study);
  const double time = free.evaluate(0).found.front().values[0];
  study.constraints.most[0] = time * 0.999;
  Explorer limited(study);
  EXPECT_EQ(limited.evaluate(0).status, Status::kExcluded);
  study.constraints.most[0] = time * 1.001;
  EXPECT_EQ(Explorer(study).evaluate(0).status, Status::kFound);
}

TEST(Row, GoesThroughBytes) {
  const Study study = study_of(small_study("goals = [\"time\", \"energy\"]"));
  Explorer explorer(study);
  std::vector<PointResult> results;
  for (std::int64_t p = 0; p < study.num_points(); ++p) results.push_back(explorer.evaluate(p));
  results.emplace_back();  // nothing there
  EXPECT_EQ(decode(encode(results)), results);
}

// What a sensitivity says is what predict says of the changed cluster.
TEST(Sensitivity, IsAFiniteDifferenceOfPredict) {
  const Study study = study_of(small_study());
  Explorer explorer(study);
  Answer answer;
  answer.point = 5;
  answer.at = coordinates(study, 5);
  answer.found = explorer.evaluate(5).found.front();
  const auto list = sensitivities(explorer, study, answer);
  std::set<Axis> axes;
  for (const Sensitivity& own : list) {
    axes.insert(own.axis);
    cluster::Cluster more = *cluster_at(study, answer.at);
    set(more, own.axis, kMore * get(more, own.axis));
    cost::Predictor predictor(study.variants[0].model, more,
                              study.machines[0].basis_for(study.variants[0]));
    EXPECT_EQ(own.same_plan, predictor.predict(answer.found.degrees).step);
    double best = 1e300;
    for (const cost::Prediction& p : predict_all(study, more))
      if (p.fits) best = std::min(best, p.step);
    EXPECT_EQ(own.best_plan, best);
    EXPECT_LE(own.same_plan, answer.found.step * (1 + 1e-12));
  }
  EXPECT_TRUE(axes.contains(Axis::kNetworkBandwidth));
  EXPECT_TRUE(axes.contains(Axis::kPeak));
}

TEST(Sensitivity, MemoryBeyondTheSurplusIsNeeded) {
  const Study study = study_of(small_study());
  Explorer explorer(study);
  Answer answer;
  answer.at = coordinates(study, 0);
  answer.found = explorer.evaluate(0).found.front();
  int compared = 0;
  for (const Sensitivity& own : sensitivities(explorer, study, answer)) {
    if (own.axis != Axis::kMemory) continue;
    ++compared;
    ASSERT_GT(own.surplus, 0);
    cluster::Cluster less = *cluster_at(study, answer.at);
    set(less, Axis::kMemory, own.value - own.surplus * 0.999);
    EXPECT_EQ(explorer.evaluate(0, 0, less).found.front().step, answer.found.step);
    set(less, Axis::kMemory, own.value - own.surplus * 1.001);
    const cost::Prediction kept = explorer.predict(0, 0, less, answer.found.degrees);
    EXPECT_FALSE(kept.fits);
  }
  EXPECT_GT(compared, 0);
}

// At the break-even price both jobs cost the same.
TEST(BreakEven, MakesBothCostTheSame) {
  Study study = study_of(small_study());
  Explorer explorer(study);
  Answer answer;
  answer.at = coordinates(study, 5);
  answer.found = explorer.evaluate(5).found.front();
  const auto list = break_evens(explorer, study, answer);
  ASSERT_EQ(list.size(), 2U);
  for (const BreakEven& own : list) {
    ASSERT_TRUE(own.unit_usd_per_s.has_value());
    EXPECT_GT(*own.unit_usd_per_s, 0);
    cluster::Cluster cluster = *cluster_at(study, answer.at);
    set(cluster, own.axis, own.from);
    const double usd = running(study.prices, study.machines[0].cluster, cluster).usd_per_s;
    const double more = *own.unit_usd_per_s * (own.to - own.from) * cluster.num_devices();
    EXPECT_NEAR(usd * *own.time_from / ((usd + more) * *own.time_to), 1, 1e-12);
  }
}

// A random study's front against all plans of all points.
RC_GTEST_PROP(Explore, FrontEqualsBruteForce, ()) {
  const int nodes = *rc::gen::inRange(1, 4);
  const double factor = 0.1 * *rc::gen::inRange(2, 40);
  const double memory = *rc::gen::element(6.0, 12.0, 40.0);
  const std::string text =
      "stack = \"megatron\"\ngoals = [\"time\", \"energy\", \"devices\"]\n[workload]\nmodel = "
      "\"gpt2-xl\"\nglobal_batch = 24\n[cluster]\nbase = \"1xdgx-a100-80\"\n[axes]\nnodes = \"1.." +
      std::to_string(nodes) + "\"\nnetwork_bandwidth = [\"x1\", \"x" + std::to_string(factor) +
      "\"]\nmemory = [\"" + std::to_string(memory) +
      " GiB\"]\n[strategy]\npp = [1, 2]\ncp = 1\nmicro_batch = [1, 2]\nrecompute = [\"none\", "
      "\"full\"]\n";
  const Study study = study_of(text);
  Explorer explorer(study);
  Database database = Database::open("", "x", study, false);
  std::set<std::vector<double>> all;
  for (std::int64_t p = 0; p < study.num_points(); ++p) {
    database.append({explorer.evaluate(p)});
    const auto cluster = cluster_at(study, coordinates(study, p));
    const Running costs = running(study.prices, study.machines[0].cluster, *cluster);
    for (const cost::Prediction& own : predict_all(study, *cluster)) {
      if (!own.fits) continue;
      const GoalValues v =
          goal_values(study.variants[0], costs, cluster->num_devices(), own.step, own.busy);
      all.insert({v[0], v[2], v[3]});
    }
  }
  std::set<std::vector<double>> wanted;
  for (const auto& a : all) {
    bool beaten = false;
    for (const auto& b : all)
      beaten = beaten || (b != a && b[0] <= a[0] && b[1] <= a[1] && b[2] <= a[2]);
    if (!beaten) wanted.insert(a);
  }
  std::set<std::vector<double>> got;
  for (const Answer& own : answers(study, database).front)
    got.insert({own.found.values[0], own.found.values[2], own.found.values[3]});
  RC_ASSERT(got == wanted);
}

}  // namespace
}  // namespace nereus::explore::point_test
