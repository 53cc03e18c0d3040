#include "app/plan/plan_mixed.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"

namespace nereus::app::plan_mixed_test {
namespace {

struct Part {
  int count = 1;
  std::string node;
};

std::string spec_of(const std::vector<Part>& parts) {
  std::string spec;
  for (const Part& part : parts)
    spec += (spec.empty() ? "" : "+") + std::to_string(part.count) + "x" + part.node;
  return spec;
}

PlanRequest request_of(const std::string& model, const std::string& cluster, int batch) {
  PlanRequest request;
  request.model.model = model;
  request.cluster.cluster = cluster;
  request.calibration.stack = "megatron";
  request.precision = cluster::Precision::kFp16;
  request.choices.global_batch = batch;
  request.options.threads = 1;
  return request;
}

// 0 where nothing fits.
double best_step(const PlanRequest& request) {
  const PlanAnswer answer = plan(request);
  return answer.plans.empty() ? 0 : answer.plans.front().prediction.step;
}

double step_on(const std::string& model, const std::vector<Part>& parts, int batch) {
  return best_step(request_of(model, spec_of(parts), batch));
}

// No slower; nothing that fits is slower than everything.
void expect_not_slower(double step, double other, const std::string& what) {
  if (other > 0) {
    EXPECT_GT(step, 0) << what;
    EXPECT_LE(step, other * (1 + 1e-9)) << what;
  }
}

class RandomClusters : public ::testing::TestWithParam<int> {};

TEST_P(RandomClusters, NoSlowerThanAKindAloneNorThanANodeLessWhateverTheOrder) {
  const std::vector<std::string> kinds = {"g5.xlarge",   "p3.2xlarge",    "g4dn.xlarge",
                                          "g5.12xlarge", "g4dn.12xlarge", "g6.4xlarge"};
  const std::vector<std::string> models = {"gpt2", "bert-large", "opt-350m"};
  Random random(static_cast<std::uint64_t>(GetParam()));
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random.below(n)); };
  std::vector<std::string> left = kinds;
  std::vector<Part> parts;
  for (std::size_t k = 2 + below(2); k > 0; --k) {
    const std::size_t which = below(left.size());
    parts.push_back({static_cast<int>(1 + below(4)), left[which]});
    left.erase(left.begin() + static_cast<long>(which));
  }
  const std::string& model = models[below(models.size())];
  const int batch = 16 << below(3);
  const std::string what = model + " on " + spec_of(parts);
  const double step = step_on(model, parts, batch);
  for (const Part& part : parts)
    expect_not_slower(step, step_on(model, {part}, batch), what + " beside " + spec_of({part}));
  std::vector<Part> turned(parts.rbegin(), parts.rend());
  EXPECT_NEAR(step_on(model, turned, batch), step, 1e-9 * step) << what;
  ++parts[below(parts.size())].count;
  expect_not_slower(step_on(model, parts, batch), step, what + " with one more");
}

INSTANTIATE_TEST_SUITE_P(PlanMixed, RandomClusters, ::testing::Range(0, 12));

TEST(PlanMixed, SeveralNodesOfAKindWrittenApartAreOneGroup) {
  const double together = best_step(request_of("gpt2", "5xg5.xlarge+5xp3.2xlarge", 64));
  std::string apart = "1xg5.xlarge+1xp3.2xlarge";
  for (int i = 1; i < 5; ++i) apart += "+1xg5.xlarge+1xp3.2xlarge";
  EXPECT_NEAR(best_step(request_of("gpt2", apart, 64)), together, 1e-9 * together);
}

TEST(PlanMixed, MoreMachinesAreNeverSlower) {
  double before = 0;
  for (const int nodes : {3, 6, 7, 8, 20}) {
    const double step = step_on("gpt2", {{nodes, "g5.xlarge"}, {nodes, "p3.2xlarge"}}, 64);
    expect_not_slower(step, before, std::to_string(nodes));
    before = step;
  }
}

TEST(PlanMixed, OneKindAloneEntersWithWhatOnlyRegularPlansHave) {
  const double alone = best_step(request_of("bert-large", "4xg5.48xlarge", 32));
  PlanRequest request = request_of("bert-large", "4xg5.48xlarge+2xp3.2xlarge", 32);
  const PlanAnswer answer = plan(request);
  ASSERT_FALSE(answer.plans.empty());
  EXPECT_LE(answer.plans.front().prediction.step, alone * (1 + 1e-9));
  EXPECT_GE(answer.plans.front().prediction.step, answer.mixed->bound);
}

// What cuts ZeRO stages off where all are looked at must not cut the best.
TEST(PlanMixed, FewerChoicesAreNeverQuicker) {
  PlanRequest request = request_of("bert-large", "4xdgx-h100+4xdgx-a100-80", 1024);
  request.calibration.stack = "nemo";
  request.precision = cluster::Precision::kBf16;
  const double all = best_step(request);
  for (const int zero : {0, 1, 2, 3}) {
    request.choices.zero = {zero};
    expect_not_slower(all, best_step(request), "ZeRO-" + std::to_string(zero));
  }
}

TEST(PlanMixed, ManyKindsSayWhatIsLeftOut) {
  const PlanAnswer answer = plan(request_of(
      "gpt2-xl",
      "1xg5.xlarge+1xp3.2xlarge+1xg4dn.xlarge+1xg6.4xlarge+1xdgx-a100-40+1xdgx-a100-80+"
      "1xdgx-h100+1xp3.16xlarge+1xp3dn.24xlarge+1xg5.12xlarge+1xg4dn.12xlarge+1xg5.48xlarge",
      64));
  ASSERT_FALSE(answer.plans.empty());
  EXPECT_FALSE(answer.mixed->every);
}

TEST(PlanMixed, TheStackDoesNotDependOnTheOrderOfGroups) {
  PlanRequest request = request_of("gpt3-6.7b", "1xdgx-h100+2xdgx-a100-80", 128);
  request.calibration.stack.clear();
  request.precision.reset();
  const PlanAnswer one = plan(request);
  request.cluster.cluster = "2xdgx-a100-80+1xdgx-h100";
  const PlanAnswer other = plan(request);
  EXPECT_EQ(one.inputs.basis.stack.name, other.inputs.basis.stack.name);
  ASSERT_FALSE(one.plans.empty());
  EXPECT_NEAR(one.plans.front().prediction.step, other.plans.front().prediction.step, 1e-9);
}

}  // namespace
}  // namespace nereus::app::plan_mixed_test
