// Burst plans (DeepPool, MLSys 2022): every layer on a separate number of ranks. For all numbers of
// ranks, and all ranks for the branches of a network, 20 steps give the losses of one rank: the
// mean over the global batch, with BatchNorm over the same groups of samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "worker/uneven_testing.hpp"

namespace nereus::worker {
namespace {

using testing::PlannedStage;
using testing::UnevenPlan;

constexpr int kBurstSteps = 20;

model::Model small_vgg() {
  return model::build_cnn({.name = "small-vgg",
                           .family = "vgg",
                           .depth = 11,
                           .channels = 1,
                           .image = 32,
                           .classes = 10});
}

// The last norms see images of 3 x 3. Of 2 x 2, an average over 3 x 3 is the same number
// everywhere: what a norm over one sample then leaves is rounding, and a ReLU takes its sign.
model::Model small_inception() {
  return model::build_cnn({.name = "small-inception",
                           .family = "inception",
                           .channels = 4,
                           .image = 139,
                           .classes = 10});
}

// Ranks first, first + 1, ... (around the end) share the batch as evenly as it goes.
PlannedStage stage_of(int num_layers, int first, int width, int num_ranks, int batch) {
  PlannedStage stage{num_layers};
  for (int i = 0; i < width; ++i) {
    const int begin = batch * i / width, end = batch * (i + 1) / width;
    stage.work.push_back({(first + i) % num_ranks, end - begin, 1, begin});
  }
  return stage;
}

// As many runs as widths, of about equally many layers.
UnevenPlan plan_of_widths(const model::Model& model, const std::vector<int>& widths, int batch) {
  UnevenPlan plan{"", {}, 0};
  const int num_runs = static_cast<int>(widths.size());
  const int num_ranks = *std::max_element(widths.begin(), widths.end());
  for (int i = 0; i < num_runs; ++i) {
    const int begin = model.num_layers() * i / num_runs;
    const int end = model.num_layers() * (i + 1) / num_runs;
    plan.stages.push_back(stage_of(end - begin, 0, widths[i], num_ranks, batch));
  }
  return plan;
}

// A run ends where a value has several readers, or a layer several inputs: so every branch is one.
std::vector<int> chains_of(const model::Model& model) {
  const auto layers = build_layers(model);
  std::vector<int> readers(layers.size()), lengths;
  for (const auto& layer : layers)
    for (const int from : layer->inputs)
      if (from >= 0) ++readers[from];
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool goes_on = i > 0 && layers[i]->inputs == std::vector<int>{static_cast<int>(i) - 1} &&
                         readers[i - 1] == 1;
    if (goes_on)
      ++lengths.back();
    else
      lengths.push_back(1);
  }
  return lengths;
}

// Each chain begins on another rank than the one before, and takes the next of `widths`.
UnevenPlan plan_of_branches(const model::Model& model, const std::vector<int>& widths,
                            int num_ranks, int batch) {
  UnevenPlan plan{"", {}, 0};
  std::size_t number = 0;
  for (const int length : chains_of(model)) {
    plan.stages.push_back(stage_of(length, static_cast<int>(number) % num_ranks,
                                   widths[number % widths.size()], num_ranks, batch));
    ++number;
  }
  return plan;
}

// Inception's 94 norms over one sample let differences grow: at the usual rate of 1e-2 one rank
// differs from itself with micro-batches of another size by 1e-16 in the second step and 1e-3 in
// the ninth; at 1e-5 by less than 1e-14 in all twenty.
double rate_of(const model::Model& model, const job::Training& usual) {
  return model.family == "inception" ? 1e-5 : usual.rate;
}

// One stage of many runs: a rank is in several, which pipelines know only as interleaving.
job::Job burst_job(const model::Model& model, const UnevenPlan& plan, int batch) {
  job::Job job = testing::uneven_job(model, plan, batch);
  for (plan::LayerRun& run : job.plan.placement.runs) run.stage = 0;
  job.training.rate = rate_of(model, job.training);
  return job;
}

struct Shape {
  std::string name;
  model::Model (*model)();
  int batch;
  std::vector<int> widths;
  int branch_ranks = 0;  // 0: runs of layers, no branches
};

UnevenPlan plan_of(const Shape& shape, const model::Model& model) {
  return shape.branch_ranks > 0
             ? plan_of_branches(model, shape.widths, shape.branch_ranks, shape.batch)
             : plan_of_widths(model, shape.widths, shape.batch);
}

const testing::Outcome& one_rank(const model::Model& model, int batch) {
  static std::map<std::pair<std::string, int>, testing::Outcome> known;
  const auto [at, is_new] = known.try_emplace({model.name, batch}, testing::Outcome{});
  if (is_new) {
    plan::Degrees alone;
    alone.global_batch = batch;
    alone.micro_batch = batch;
    alone.precision = cluster::Precision::kFp64;
    job::Job job = testing::make_job(model, alone);
    job.training.rate = rate_of(model, job.training);
    at->second = testing::run_job(job, kBurstSteps, testing::reader_of(model), "shared");
  }
  return at->second;
}

class Burst : public ::testing::TestWithParam<Shape> {};

TEST_P(Burst, LossesAreThoseOfOneRank) {
  const model::Model model = GetParam().model();
  const testing::Outcome& expected = one_rank(model, GetParam().batch);
  const job::Job job = burst_job(model, plan_of(GetParam(), model), GetParam().batch);
  ASSERT_EQ(testing::complaints(job), "");
  const testing::Outcome got =
      testing::run_job(job, kBurstSteps, testing::reader_of(model), "shared");
  ASSERT_EQ(got.losses.size(), expected.losses.size());
  EXPECT_GT(std::abs(expected.losses.back() - expected.losses.front()), 1e-3);
  for (std::size_t i = 0; i < got.losses.size(); ++i)
    EXPECT_NEAR(got.losses[i] / expected.losses[i], 1, 1e-9) << "step " << i;
  if (testing::on_gpu()) return;  // its ranks are processes and tell their losses alone
  ASSERT_EQ(got.gradients.size(), expected.gradients.size());
  // A bias before a norm has no gradient but rounding: that of the largest.
  double largest = 0;
  for (const auto& [name, gradient] : expected.gradients)
    largest = std::max(largest, gradient.abs().max().item<double>());
  for (const auto& [name, gradient] : expected.gradients)
    EXPECT_LE((got.gradients.at(name) - gradient).abs().max().item<double>(),
              1e-9 * gradient.abs().max().item<double>() + 1e-14 * largest)
        << name;
  for (const auto& [name, statistics] : expected.statistics)
    EXPECT_TRUE(at::allclose(got.statistics.at(name), statistics, 1e-9, 1e-9)) << name;
}

// The embedding's backward passes may all be done before the head's, whose weight it is too.
TEST(BurstTies, HeadWithOtherMicroBatchesThanTheEmbedding) {
  const model::Model model = testing::small_gpt();
  constexpr int kBatch = 3;
  const testing::Outcome& expected = one_rank(model, kBatch);
  for (const int zero : {0, 2}) {
    const std::vector<testing::Kept> kept =
        zero > 0 ? std::vector<testing::Kept>{{0, 0.5}, {1, 0.5}} : std::vector<testing::Kept>{};
    const UnevenPlan plan{"",
                          {{model.num_layers() - 1, {{0, 1, 1, 0}, {1, 1, 2, 1}}, kept},
                           {1, {{1, 1, 1, 0}, {0, 1, 2, 1}}, kept}},
                          zero};
    const job::Job job = burst_job(model, plan, kBatch);
    ASSERT_EQ(testing::complaints(job), "");
    const testing::Outcome got =
        testing::run_job(job, kBurstSteps, testing::reader_of(model), "shared");
    ASSERT_EQ(got.losses.size(), expected.losses.size());
    for (std::size_t i = 0; i < got.losses.size(); ++i)
      EXPECT_NEAR(got.losses[i] / expected.losses[i], 1, 1e-9) << "zero " << zero << " step " << i;
  }
}

LayerInputs inputs_of(const model::Model& model) {
  LayerInputs inputs;
  for (const auto& layer : build_layers(model)) inputs.push_back(layer->inputs);
  return inputs;
}

// Direct: a stage waits only for the stages that made what it reads, so branches on different ranks
// run concurrently. Through: for its neighbors.
TEST(BurstLinks, StagesWaitForWhatTheyRead) {
  const model::Model model = small_inception();
  const job::Job job = burst_job(model, plan_of_branches(model, {1}, 4, 4), 4);
  const plan::Placement& placement = job.plan.placement;
  int beside = 0;
  for (int rank = 0; rank < 4; ++rank) {
    for (const StageWork& work : rank_plan(placement, rank, inputs_of(model)).stages) {
      for (const Link& link : work.from) {
        const plan::LayerRun& maker = placement.runs[link.stage];
        for (const int value : link.values) {
          EXPECT_GE(value, maker.first_layer);
          EXPECT_LT(value, maker.first_layer + maker.num_layers);
        }
      }
      EXPECT_EQ(work.from.empty(), work.stage == 0);
      const bool waits_for_last =
          std::any_of(work.from.begin(), work.from.end(),
                      [&](const Link& link) { return link.stage == work.stage - 1; });
      if (!waits_for_last) ++beside;
      EXPECT_TRUE(std::is_sorted(work.to.begin(), work.to.end(),
                                 [](const Link& a, const Link& b) { return a.stage > b.stage; }));
    }
    for (const StageWork& work :
         rank_plan(placement, rank, inputs_of(model), Routing::kThrough).stages)
      for (const Link& link : work.from) EXPECT_EQ(link.stage, work.stage - 1);
  }
  EXPECT_GT(beside, 20);  // eleven blocks of three or four branches
}

// NCCL's messages meet in their order, so values go through the stages between: the same losses.
TEST(BurstLinks, ValuesThatGoThroughGiveTheSameLosses) {
  const model::Model model = testing::small_resnet();
  job::Job job = burst_job(model, plan_of_branches(model, {1, 2}, 2, 4), 4);
  const ReadBatch read = testing::reader_of(model);
  const testing::Outcome direct = testing::run_job(job, 3, read, "shared");
  job.machine.comm = "nccl";
  if (testing::on_gpu()) GTEST_SKIP() << "one GPU for all ranks";
  const testing::Outcome through = testing::run_job(job, 3, read, "shared");
  for (std::size_t i = 0; i < direct.losses.size(); ++i)
    EXPECT_NEAR(through.losses.at(i) / direct.losses[i], 1, 1e-12) << "step " << i;
}

std::vector<Shape> shapes() {
  std::vector<Shape> list = {
      {"gpt_4_2_1_4", testing::small_gpt, 8, {4, 2, 1, 4}},
      {"vgg_4_2_1_4", small_vgg, 4, {4, 2, 1, 4}},
      {"resnet_4_2_1_4", testing::small_resnet, 8, {4, 2, 1, 4}},
      {"inception_4_2_1_4", small_inception, 4, {4, 2, 1, 4}},
      // A batch that does not divide by the widths.
      {"gpt_3_1_2", testing::small_gpt, 7, {3, 1, 2}},
      {"resnet_branches_on_two_ranks", testing::small_resnet, 8, {1}, 2},
      {"inception_branches_on_four_ranks", small_inception, 4, {1}, 4},
  };
  if (std::getenv("NEREUS_ALL_PLANS") == nullptr) return list;
  for (const auto& [name, model] : {std::pair{"gpt", &testing::small_gpt},
                                    {"llama", &testing::small_llama},
                                    {"bert", &testing::small_bert},
                                    {"vgg", &small_vgg},
                                    {"resnet", &testing::small_resnet},
                                    {"inception", &small_inception}}) {
    const std::string of = name;
    list.push_back({of + "_all_1_4_1", model, 7, {1, 4, 1}});
    list.push_back({of + "_all_3_1_2", model, 7, {3, 1, 2}});
    list.push_back({of + "_all_2_3_4_3", model, 5, {2, 3, 4, 3}});
    list.push_back({of + "_all_branches_of_widths_1_2_3", model, 7, {1, 2, 3}, 4});
    list.push_back({of + "_all_branches_of_widths_2_1", model, 6, {2, 1}, 3});
  }
  return list;
}

INSTANTIATE_TEST_SUITE_P(Plans, Burst, ::testing::ValuesIn(shapes()),
                         [](const auto& param_info) { return param_info.param.name; });

}  // namespace
}  // namespace nereus::worker
